import io
import pickle
import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import gradcheck
from torch.utils import _pytree as pytree
from torch.utils.data import DataLoader

from symsets import DSS, RaggedSets, SetAttention, collate, pool
from symsets.data import LabelledSets
from symsets.sets.folding import membership
from symsets.sets.partition import Partition


@pytest.fixture
def sets():
    return RaggedSets(torch.arange(12.0).reshape(6, 2), [2, 0, 3, 1])


def test_sets_come_back_one_by_one(sets):
    parts = sets.to_list()
    assert [len(p) for p in parts] == [2, 0, 3, 1]
    assert torch.equal(torch.cat(parts), sets.elements)
    assert torch.equal(sets[-1], sets[3])
    assert len(sets) == 4


def test_slices_are_batches(sets):
    some = sets[1:3]
    assert isinstance(some, RaggedSets)
    assert some.partition.counts == (0, 3)
    assert torch.equal(some[1], sets[2])
    assert some.elements.data_ptr() == sets[2].data_ptr()  # a view
    assert len(sets[3:1]) == 0
    assert torch.equal(sets[::-2].elements, sets[list(range(len(sets)))[::-2]].elements)


def test_partition_is_derived_once_and_shared(sets):
    mapped = sets.map(torch.neg)
    assert mapped.partition is sets.partition
    assert mapped.partition.index is sets.partition.index
    assert sets.partition.index.tolist() == [0, 0, 2, 2, 2, 3]
    assert sets.partition.offsets.tolist() == [0, 2, 2, 5, 6]
    assert sets.partition.common_size is None
    assert Partition([3, 3]).common_size == 3


def test_buckets_hold_every_row_once(sets):
    rows = torch.cat([rows.flatten() for _, rows in sets.partition.buckets])
    assert rows.sort().values.tolist() == list(range(6))
    for which, rows in sets.partition.buckets:
        assert torch.equal(sets.partition.index[rows], which[:, None].expand_as(rows))


def test_rows_by_size_and_back(sets):
    x = torch.randn(6, 2, requires_grad=True)
    parts = sets.partition.by_size(x)
    for part, (which, _) in zip(parts, sets.partition.buckets, strict=True):
        for some, place in zip(part, which.tolist(), strict=True):
            assert torch.equal(some, sets.with_elements(x)[place])
    assert torch.equal(sets.partition.from_sizes(parts), x)
    (sum(part.square().sum() for part in parts)).backward()
    assert torch.equal(x.grad, 2 * x)
    assert sets.partition.order is sets.partition.order


def test_the_order_of_sizes_may_be_asked_for_in_inference_first(sets):
    with torch.inference_mode():
        sets.partition.by_size(sets.elements)
    x = torch.randn(6, 2, requires_grad=True)
    sets.partition.from_sizes(sets.partition.by_size(x)).sum().backward()
    assert torch.equal(x.grad, torch.ones(6, 2))


def test_padded_and_back():
    x = torch.randn(3, 4, 2)
    mask = torch.tensor([[1, 1, 0, 0], [0, 0, 0, 0], [1, 0, 1, 1]], dtype=torch.bool)
    sets = RaggedSets.from_padded(x, mask)
    assert sets.sizes.tolist() == [2, 0, 3]
    padded, mask2 = sets.to_padded(value=7.0)
    assert padded.shape == (3, 3, 2)
    assert (padded[~mask2] == 7).all()
    again = RaggedSets.from_padded(padded, mask2)
    assert torch.equal(again.elements, sets.elements)


def test_padding_hands_gradients_to_its_rows(sets):
    x = torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
    padded = lambda rows: sets.with_elements(rows).to_padded(3.0)[0]  # noqa: E731
    assert torch.autograd.gradcheck(padded, x)
    several = torch.randn(4, 6, 2)
    for rows, found in zip(several, torch.vmap(padded)(several), strict=True):
        assert torch.equal(found, padded(rows))


def test_it_is_a_pytree_node(sets):
    doubled = pytree.tree_map(lambda t: t * 2, {"a": sets})["a"]
    assert torch.equal(doubled.elements, sets.elements * 2)
    assert doubled.partition == sets.partition


def test_mapping_leaves_to_a_device_takes_the_sizes_along(sets):
    moved = pytree.tree_map(lambda t: t.to("meta"), sets)
    assert moved.sizes.device.type == moved.partition.index.device.type == "meta"


def test_the_verbs_of_tensors_move_and_detach(sets):
    grown = sets.map(lambda rows: (2 * rows.double()).requires_grad_())
    fixed = grown.detach()
    assert grown.elements.requires_grad
    assert not fixed.elements.requires_grad
    assert torch.equal(fixed.elements, grown.elements)
    assert fixed.partition == sets.partition
    assert torch.equal(sets.cpu().elements, sets.elements)
    assert sets.cuda("meta").sizes.device.type == "meta"  # any device that is named


def test_to_casts_elements_and_keeps_sizes(sets):
    cast = sets.to(torch.float64)
    assert cast.dtype == torch.float64
    assert cast.sizes.dtype == torch.int64
    assert sets.to("meta").device.type == "meta"
    assert sets.to("meta").sizes.device.type == "meta"


def test_it_pickles(sets):
    again = pickle.loads(pickle.dumps(sets))
    assert torch.equal(again.elements, sets.elements)
    assert again.partition == sets.partition


def test_it_is_saved_and_loaded_without_trust(sets, tmp_path):
    clouds = RaggedSets.from_list([[torch.randn(5, 3), torch.randn(7, 3)], [torch.randn(4, 3)]])
    stored = {"sets": sets, "clouds": clouds, "labelled": LabelledSets(clouds, torch.arange(2))}
    torch.save(stored, tmp_path / "sets.pt")
    again = torch.load(tmp_path / "sets.pt", weights_only=True)
    assert again["sets"].partition == sets.partition
    assert torch.equal(again["sets"].elements, sets.elements)
    for loaded in (again["clouds"], again["labelled"].x):
        assert loaded.elements.partition == clouds.elements.partition
        assert torch.equal(loaded.elements.elements, clouds.elements.elements)


def test_sizes_are_loaded_to_where_the_elements_are(sets, tmp_path):
    torch.save(sets, tmp_path / "sets.pt")
    moved = torch.load(tmp_path / "sets.pt", map_location="meta")
    assert moved.partition.device == moved.device == torch.device("meta")
    back = moved.partition.to("cpu")  # not the partition itself, whose tensors are elsewhere
    assert back.sizes.tolist() == sets.sizes.tolist()


def test_a_list_of_sets_of_clouds_becomes_a_batch_again():
    clouds = RaggedSets.from_list([[torch.randn(5, 3), torch.randn(7, 3)], [torch.randn(4, 3)]])
    again = RaggedSets.from_list(clouds.to_list())
    assert again.partition == clouds.partition
    assert again.elements.partition == clouds.elements.partition
    assert torch.equal(again.elements.elements, clouds.elements.elements)


def test_a_gradient_leaves_nothing_behind(sets):
    layer = SetAttention(nn.Linear(2, 3))
    torch.func.grad(lambda x: layer(sets.with_elements(x)).elements.sum())(sets.elements)
    again = pickle.loads(pickle.dumps(sets))
    assert torch.equal(layer(again).elements, layer(sets).elements)


def test_distributed_training_finds_the_elements(sets, tmp_path):
    store = f"file://{tmp_path / 'store'}"
    torch.distributed.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    try:
        net = nn.ModuleList([DSS(nn.Linear(2, 3)), nn.Linear(2, 3)])
        net.forward = lambda x: net[0](x)
        parallel = nn.parallel.DistributedDataParallel(net, find_unused_parameters=True)
        parallel(sets).elements.sum().backward()
    finally:
        torch.distributed.destroy_process_group()
    assert all(p.grad is not None for p in net[0].parameters())
    assert all(p.grad is None for p in net[1].parameters())


def test_lightning_converts_the_elements(sets):
    precision = pytest.importorskip("lightning.pytorch.plugins.precision")
    converted = precision.DoublePrecision().convert_input([sets])[0]
    assert converted.dtype == torch.float64
    assert converted.partition == sets.partition
    assert sets.dtype == torch.float32


def test_residual_sums(sets):
    assert torch.equal((sets + sets).elements, 2 * sets.elements)
    with pytest.raises(ValueError, match="same sizes"):
        sets + RaggedSets(sets.elements, [6])
    # Torch would add one number per element to columns, where there are as many.
    with pytest.raises(ValueError, match=r"elements with as many axes .* got RaggedSets\(.*and"):
        sets + sets.map(lambda rows: rows.sum(1))
    with pytest.raises(TypeError):
        sets + 1


def test_clouds_of_different_sizes_nest():
    clouds = [[torch.randn(4, 3), torch.randn(2, 3)], [torch.randn(5, 3)]]
    sets = RaggedSets.from_list(clouds)
    assert repr(sets) == "RaggedSets(2 sets of 1–2 from [3 sets of 2–5 elements (3,)])"
    assert torch.equal(sets[0][1], clouds[0][1])
    assert sets.to(torch.float64).elements.dtype == torch.float64


def one_set(elements):
    return RaggedSets(elements, [len(elements)])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: RaggedSets(x, [2, 3]), r"sizes must add up .* 6, got \[2, 3\] \(sum 5\)"),
        (lambda x: RaggedSets(x, [7, -1]), "sizes must not be negative"),
        (lambda x: RaggedSets(x, [6]).map(lambda t: t[:2]), "one row per element, 6, got 2"),
        (lambda x: RaggedSets.from_list([]), "at least one set"),
        (lambda x: RaggedSets.from_padded(x[None], torch.ones(1, 5) > 0), "mask must be boolean"),
    ],
)
def test_wrong_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make(torch.zeros(6, 2))


X = torch.zeros(4, 3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RaggedSets(X.numpy(), [2, 2]), r"elements must be a tensor .* got ndarray"),
        (lambda: RaggedSets((X, X)), "got tuple: RaggedSets.from_list makes sets of a list of"),
        (lambda: RaggedSets(torch.tensor(1.0), [1]), "elements must be .* got Tensor"),
        (lambda: RaggedSets(X, torch.tensor([2.0, 2.0])), "sizes must be a vector of integers"),
        (lambda: RaggedSets(X, torch.tensor([[4]])), "sizes must be a vector of integers"),
        (lambda: RaggedSets(X, [2.5, 2.5]), r"sizes must be a vector of integers, got \[2.5, 2.5"),
        (lambda: RaggedSets(X, "22"), "sizes must be a vector of integers, got '22'"),
        (lambda: RaggedSets(X, 4), "sizes must be a vector of integers, got 4"),
        (lambda: RaggedSets.from_list([X.numpy()]), "expected Tensor"),
        (lambda: RaggedSets(X, [4])["a"], "indices must be integers"),
    ],
)
def test_wrong_types_get_a_sentence(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_sets_may_be_given_as_one_tensor_or_one_after_the_other():
    assert RaggedSets.from_list(torch.zeros(2, 3, 4)).partition.counts == (3, 3)
    assert RaggedSets.from_list(X[:n] for n in (1, 3)).partition.counts == (1, 3)


def test_more_wrong_input_is_named(sets):
    with pytest.raises(ValueError, match=r"mask must be boolean of shape \(2,\)"):
        RaggedSets.from_padded(torch.zeros(2), torch.ones(2, 1) > 0)
    with pytest.raises(ValueError, match="may differ in their first axis only: Sizes of tensors"):
        RaggedSets.from_list([X, X.T])
    with pytest.raises(IndexError, match="out of range"):
        sets[4]
    with pytest.raises(TypeError, match="element must return one tensor, got tuple"):
        sets.map(lambda t: (t, t))
    with pytest.raises(ValueError, match="sizes must be left out where partition says them"):
        RaggedSets(sets.elements, [6], partition=sets.partition)


def test_collate_lets_sets_differ_in_size():
    samples = [{"x": torch.randn(n, 3), "y": n} for n in (2, 5, 5)]
    batch = next(iter(DataLoader(samples, batch_size=3, collate_fn=collate)))
    assert isinstance(batch["x"], RaggedSets)
    assert batch["x"].partition.counts == (2, 5, 5)
    assert batch["y"].tolist() == [2, 5, 5]
    equal = collate([s["x"] for s in samples[1:]])
    assert isinstance(equal, torch.Tensor)
    assert equal.shape == (2, 5, 3)


def test_a_loader_with_workers_delivers_sets():
    samples = [(torch.randn(n, 3), n) for n in (2, 5, 1, 4)]
    loader = DataLoader(samples, batch_size=2, collate_fn=collate, num_workers=1)
    got = [batch[0].partition.counts for batch in loader]
    assert got == [(2, 5), (1, 4)]


def test_what_is_made_in_inference_mode_serves_in_training():
    x = RaggedSets(torch.randn(9, 3), [2, 3, 4])
    layer = SetAttention(nn.Linear(3, 4))
    with torch.inference_mode():
        layer(x)
        partition = Partition([2, 3, 4])
    assert not any(t.is_inference() for t in (partition.index, partition.sizes, partition.offsets))
    layer(x).elements.sum().backward()


def test_layers_of_ragged_sets_can_be_exported_and_saved(sets):
    layer, file = DSS(nn.Linear(2, 3)), io.BytesIO()
    torch.export.save(torch.export.export(layer, (sets,)), file)
    file.seek(0)
    with warnings.catch_warnings(), torch.serialization.safe_globals([RaggedSets, Partition]):
        warnings.simplefilter("ignore")
        exported = torch.export.load(file).module()
    torch.testing.assert_close(exported(sets).elements, layer(sets).elements)


def test_partitions_of_traced_sets_are_not_kept():
    with FakeTensorMode():
        membership(torch.empty(13, 7, 3))
    index, _ = membership(torch.empty(13, 7, 3))
    assert type(index) is torch.Tensor


def test_some_sets_in_any_order():
    sets = RaggedSets(torch.arange(9), [2, 0, 3, 4])
    for which in ([3, 0, 0], torch.tensor([-1, 0, 0])):
        some = sets[which]
        assert some.partition.counts == (4, 2, 2)
        assert some.elements.tolist() == [5, 6, 7, 8, 0, 1, 0, 1]
    for mask in ([True, False, False, True], torch.tensor([True, False, False, True])):
        assert sets[mask].partition.counts == (2, 4)
    assert len(sets[[]]) == 0
    assert sets[3:0:-1].elements.tolist() == [5, 6, 7, 8, 2, 3, 4]
    for which in ([0, 4], [True, False], torch.tensor([True, False]), [1.5], ["a"]):
        with pytest.raises(IndexError):
            sets[which]


def test_some_sets_of_clouds():
    clouds = RaggedSets(torch.arange(10), [1, 2, 3, 4])
    some = RaggedSets(clouds, [1, 3])[[1, 0]]
    assert some.partition.counts == (3, 1)
    assert some.elements.partition.counts == (2, 3, 4, 1)
    assert some.elements.elements.tolist() == [*range(1, 10), 0]


def test_some_sets_have_gradients():
    x = torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: RaggedSets(x, [1, 2, 3])[[2, 0, 2]].elements, (x,))


def test_a_stream_keeps_the_memory_of_elements_and_sizes(monkeypatch):
    kept = []
    monkeypatch.setattr(torch.Tensor, "record_stream", lambda x, _: kept.append(x), raising=False)
    clouds = RaggedSets(torch.zeros(3), [1, 2])
    RaggedSets(clouds, [2]).record_stream(None)
    assert any(x is clouds.elements for x in kept)
    assert [x.tolist() for x in kept if x.dtype == torch.int64] == [
        *([1, 2], [0, 1, 3], [0, 1, 1]),  # sizes, offsets and index of the clouds
        *([2], [0, 2], [0, 0]),
    ]


@pytest.mark.parametrize(
    "fn", [torch.relu, nn.Linear(3, 2), lambda x: torch.cat([x, x])], ids=["relu", "linear", "cat"]
)
def test_functions_of_torch_say_what_to_call_instead(fn):
    with pytest.raises(TypeError, match=r"must get tensors, got RaggedSets: .* as in x.map\(fn\)"):
        fn(RaggedSets(torch.randn(5, 3), [2, 3]))


@pytest.mark.parametrize("kind", [torch.tensor, np.bool_, bool])
def test_masks_may_hold_booleans_of_any_kind(kind):
    x = RaggedSets(torch.arange(6), [1, 2, 3])
    assert x[[kind(len(s) > 1) for s in x]].sizes.tolist() == [2, 3]
    assert x[np.array([True, False, True])].sizes.tolist() == [1, 3]


def test_a_mask_of_bytes_is_no_index():
    x = RaggedSets(torch.arange(6), [1, 2, 3])
    with pytest.raises(TypeError, match=r"index must be integers or booleans, got torch\.uint8"):
        x[torch.tensor([1, 0, 1], dtype=torch.uint8)]


def test_sizes_may_be_changed_in_place():
    x = RaggedSets(torch.tensor([[1.0], [2.0], [5.0]]), [2, 0, 1])
    x.sizes.clamp_(min=1)
    assert pool(x, "max").flatten().tolist() == [2, 0, 5]
