import pytest
import torch

from symsets.sets import RaggedSets, collate


def test_nothing_to_collate_is_refused():
    with pytest.raises(ValueError, match="at least one sample"):
        collate([])


def test_a_ragged_sample_is_a_set_of_clouds():
    clouds = [torch.randn(n, 3) for n in (5, 7, 4)]
    samples = [{"x": RaggedSets.from_list(clouds[:2])}, {"x": RaggedSets.from_list(clouds[2:])}]
    batch = collate(samples)["x"]
    expected = RaggedSets.from_list([clouds[:2], clouds[2:]])
    assert batch.partition == expected.partition
    assert batch.elements.partition == expected.elements.partition
    assert torch.equal(batch.elements.elements, expected.elements.elements)


def test_lists_are_taken_item_by_item():
    first, second = collate([[torch.zeros(2, 3), 0], [torch.zeros(4, 3), 1]])
    assert first.partition.counts == (2, 4)
    assert second.tolist() == [0, 1]


def test_lists_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="must have one length; a set of clouds is"):
        collate([([torch.zeros(5, 3), torch.zeros(7, 3)], 0), ([torch.zeros(4, 3)], 1)])


@pytest.mark.parametrize("samples", [[None, 3], [{"y": None}, {"y": torch.ones(2)}]])
def test_labels_of_some_sets_alone_are_refused(samples):
    with pytest.raises(TypeError, match="samples must all be alike"):
        collate(samples)
    with pytest.raises((TypeError, AttributeError, RuntimeError)):
        collate(samples[::-1])
    assert collate([(torch.zeros(1, 2), None)] * 2)[1] is None
