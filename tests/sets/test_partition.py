"""How rows are divided into sets, also where a file or an exported program says it."""

import copy
import dataclasses
import io
import pickle

import pytest
import torch

from symsets import RaggedSets
from symsets.data import LabelledSets
from symsets.sets.graphs import GraphSets
from symsets.sets.partition import OpenPartition, Partition


def test_counts_are_never_negative():
    with pytest.raises(ValueError, match="sizes must not be negative, got -999999"):
        Partition([1000000, -999999])


@pytest.mark.parametrize("counts", [(1000000, -999997), (10**12,), (2, 2)])
def test_a_file_cannot_make_sets_of_sizes_that_do_not_fit(counts):
    sets = RaggedSets(torch.zeros(3, 2), [1, 2])
    sets.partition.counts = counts
    file = io.BytesIO()
    torch.save(sets, file)
    file.seek(0)
    with pytest.raises(ValueError, match="sizes must"):
        torch.load(file, weights_only=True)


def test_what_a_file_may_make_is_known():
    ours = {kind for kind in torch.serialization.get_safe_globals() if "symsets" in str(kind)}
    assert ours == {RaggedSets, GraphSets, LabelledSets}  # all made by checked constructors


def test_new_files_hold_no_partition():
    file = io.BytesIO()
    torch.save(RaggedSets(torch.zeros(3, 2), [1, 2]), file)
    assert b"RaggedSets" in file.getvalue()
    assert b"Partition" not in file.getvalue()


def test_copies_have_the_same_sizes():
    assert pickle.loads(pickle.dumps(Partition([1, 2]))).index.tolist() == [0, 1, 1]
    clouds = RaggedSets(RaggedSets(torch.randn(5, 3), [2, 3]), [1, 1])
    for made in (copy.deepcopy(clouds), pickle.loads(pickle.dumps(clouds))):
        assert made.partition == clouds.partition
        assert torch.equal(made.elements.elements, clouds.elements.elements)


def test_open_sizes_are_not_asked_for():
    open_sizes = OpenPartition(torch.tensor([2, 0, 1]), 3)
    assert open_sizes.index.tolist() == [0, 0, 2]
    assert open_sizes.offsets.tolist() == [0, 2, 2, 3]
    for name in ("counts", "buckets"):
        with pytest.raises(AttributeError):
            getattr(open_sizes, name)


def test_fields_may_be_replaced():  # as data-parallel training does
    sets = RaggedSets(torch.zeros(3, 2), [1, 2])
    assert dataclasses.replace(sets).sizes.tolist() == [1, 2]
    assert dataclasses.replace(sets, elements=torch.ones(3, 4)).elements.shape == (3, 4)


def test_a_message_shows_the_first_of_many_sizes():
    with pytest.raises(ValueError, match=r"got \[1, 1, 1, 1, 1, 1, \.\.\.\]"):
        RaggedSets(torch.zeros(3, 2), [1] * 1000000)
