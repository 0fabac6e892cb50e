import math

import pytest
import torch
from skimage.metrics import peak_signal_noise_ratio, structural_similarity
from torch.utils.data import DataLoader

from symsets.data.labelled import LabelledSets
from symsets.sets import RaggedSets, collate
from symsets.train.metrics import ACCURACY, Metric, Task, accuracy, mean_absolute_error, psnr, ssim


def pictures(span=2.0, *, noise=0.3, shape=(4, 3, 32, 40)):
    """Pictures with structure, and noisy copies of them, in a range of width ``span``."""
    coarse = torch.rand(shape[0], shape[1], 5, 6, dtype=torch.float64)
    clean = torch.nn.functional.interpolate(coarse, shape[2:], mode="bilinear") * span - 1
    return clean + noise * torch.randn(shape, dtype=torch.float64), clean


def test_errors_are_in_grey_levels():
    output, target = pictures()
    found = mean_absolute_error(127.5)(output, target)
    expected = [127.5 * abs(a - b).mean() for a, b in zip(output.numpy(), target.numpy())]  # noqa: B905
    assert found.tolist() == pytest.approx(expected, rel=1e-12)
    sets = output[:, None].expand(-1, 6, -1, -1, -1)
    again = mean_absolute_error(127.5)(sets, target[:, None].expand_as(sets))
    torch.testing.assert_close(again, found)


@pytest.mark.parametrize("span", [1.0, 2.0])
def test_psnr_is_that_of_scikit_image(span):
    output, target = pictures(span)
    expected = [
        peak_signal_noise_ratio(b.numpy(), a.numpy(), data_range=span)
        for a, b in zip(output, target, strict=True)
    ]
    assert psnr(span)(output, target).tolist() == pytest.approx(expected, rel=1e-9)


def test_psnr_of_a_perfect_picture_is_large_but_finite():
    _, target = pictures()
    assert 100 < psnr(2.0)(target, target).max() < math.inf


@pytest.mark.parametrize("noise", [0.02, 0.3])
@pytest.mark.parametrize("span", [1.0, 2.0])
def test_ssim_is_that_of_scikit_image(span, noise):
    output, target = pictures(span, noise=noise)
    expected = [
        structural_similarity(
            a.numpy(),
            b.numpy(),
            data_range=span,
            channel_axis=0,
            gaussian_weights=True,
            sigma=1.5,
            use_sample_covariance=False,
        )
        for a, b in zip(output, target, strict=True)
    ]
    found = ssim(span)(output, target)
    assert found.tolist() == pytest.approx(expected, abs=1e-6)
    assert ssim(span)(target, target).tolist() == pytest.approx([1.0] * 4)


def test_ssim_knows_where_black_is():
    output, target = pictures()
    expected = ssim(255.0)(127.5 * (output + 1), 127.5 * (target + 1))
    torch.testing.assert_close(ssim(2.0, low=-1.0)(output, target), expected)
    assert (ssim(2.0)(output, target) < expected - 0.01).all()  # grey would count as black


def test_one_picture_gets_one_value():
    output, target = pictures(shape=(1, 3, 32, 32))
    for function in (mean_absolute_error(1.0), psnr(2.0), ssim(2.0)):
        assert function(output, target).shape == (1,)


def test_accuracy_is_right_or_wrong():
    scores = torch.tensor([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
    assert accuracy(scores, torch.tensor([1, 2, 2])).tolist() == [1, 0, 1]
    assert ACCURACY(scores, torch.tensor([1, 2, 2])) == pytest.approx(2 / 3)


def test_better_is_up_or_down_and_never_nan():
    error = Metric("mae", mean_absolute_error(1.0), larger_is_better=False)
    assert ACCURACY.is_better(0.6, 0.5)
    assert not ACCURACY.is_better(0.5, 0.5)
    assert error.is_better(0.4, 0.5)
    assert not error.is_better(0.5, 0.5)
    for metric in (ACCURACY, error):
        assert metric.is_better(0.0, None)
        assert not metric.is_better(math.nan, None)
        assert not metric.is_better(math.nan, 0.5)


def test_the_first_metric_decides():
    other = Metric("other", accuracy)
    assert Task(torch.nn.functional.l1_loss, (other, ACCURACY)).metric is other


def test_metrics_that_would_be_mixed_up_are_refused():
    loss = torch.nn.functional.cross_entropy
    with pytest.raises(ValueError, match=r"^name must not be 'loss', under which the loss itself"):
        Metric("loss", accuracy)
    with pytest.raises(ValueError, match=r"different names, got \['accuracy', 'accuracy'\]$"):
        Task(loss, (ACCURACY, Metric("accuracy", accuracy, larger_is_better=False)))
    with pytest.raises(TypeError, match=r"^metrics must be a tuple of metrics, got \(\)$"):
        Task(loss, ())
    for wrong in (ACCURACY, (accuracy,), "accuracy", None):
        with pytest.raises(TypeError, match=r"^metrics must be a tuple of metrics"):
            Task(loss, wrong)
    assert Task(loss, [ACCURACY]).metric is ACCURACY
    with pytest.raises(TypeError, match="loss must be a function, got 'l1'"):
        Task("l1", (ACCURACY,))


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (lambda out, y: out.mean(), r"\(\)"),
        (lambda out, y: out, r"\(4, 3\)"),
        (lambda out, y: 0.5, "float"),
    ],
)
def test_metrics_have_one_value_per_set(function, found):
    with pytest.raises(
        ValueError, match=rf"metric 'mine' must return one value for each set, got {found}$"
    ):
        Metric("mine", function)(torch.randn(4, 3), torch.zeros(4))


def test_stored_sets_have_a_label_each():
    x, y = torch.randn(7, 3, 2), torch.arange(7)
    ragged = RaggedSets(torch.randn(7, 2), [3, 4])
    with pytest.raises(
        ValueError, match=r"a label for each set of x, RaggedSets\(2 sets .*, got \(7,\)"
    ):
        LabelledSets(ragged, y)
    with pytest.raises(TypeError, match=r"^x must be a tensor .*, got list: RaggedSets\.from_list"):
        LabelledSets([x], y)
    with pytest.raises(TypeError, match=r"^y must be a tensor \(M, …\) or RaggedSets, got list$"):
        LabelledSets(x, y.tolist())
    for labels, shape in ((y[:6], r"\(6,\)"), (torch.arange(8), r"\(8,\)"), (y.sum(), r"\(\)")):
        with pytest.raises(
            ValueError, match=rf"a label for each set of x, \(7, 3, 2\), got {shape}$"
        ):
            LabelledSets(x, labels)


def test_stored_sets_of_different_sizes_are_a_supply():
    x = RaggedSets(torch.arange(9.0).reshape(9, 1), [2, 0, 3, 4])
    sets = LabelledSets(x, torch.arange(4))
    some, y = sets.batch(torch.tensor([[3, 0], [2, 2]]))
    assert [part.partition.counts for part in some] == [(4, 2), (3, 3)]
    assert some[0].elements.flatten().tolist() == [5, 6, 7, 8, 0, 1]
    assert y.tolist() == [[3, 0], [2, 2]]
    assert sets.batch(torch.tensor([2]))[0].elements.flatten().tolist() == [2, 3, 4]
    assert sets.first(3).x.partition.counts == (2, 0, 3)
    assert sets.to("cpu", torch.float64).x.dtype == torch.float64


def test_targets_may_be_ragged():
    x = RaggedSets(torch.arange(9.0).reshape(9, 1), [2, 0, 3, 4])
    sets = LabelledSets(x, x.map(lambda rows: rows.flatten() + 10))
    some, y = sets.batch(torch.tensor([[3, 0], [2, 2]]))
    for part, target in zip(some, y, strict=True):
        assert torch.equal(target.elements, part.elements.flatten() + 10)
    assert sets.batch(torch.tensor([2]))[1].elements.tolist() == [12, 13, 14]
    assert sets.part(2, 4)[1].partition.counts == (3, 4)
    assert sets.first(3).y.partition.counts == (2, 0, 3)
    assert sets[2][1].tolist() == [12, 13, 14]
    assert repr(sets).endswith("y: RaggedSets(4 sets of 0–4 elements ()))")
    with pytest.raises(ValueError, match=r"RaggedSets\(4 sets .*, got RaggedSets\(3 sets"):
        LabelledSets(x, sets.y[:3])


def test_sets_of_clouds_are_a_dataset_too():
    clouds = RaggedSets(torch.arange(12.0).reshape(12, 1), [2, 3, 1, 0, 4, 2])
    sets = LabelledSets(RaggedSets(clouds, [1, 2, 0, 3]), torch.arange(4))
    (first, y), (last, _) = DataLoader(sets, batch_size=3, collate_fn=collate)
    assert (first.partition.counts, last.partition.counts) == ((1, 2, 0), (3,))
    assert first.elements.partition.counts == (2, 3, 1)
    assert last.elements.elements.flatten().tolist() == [6, 7, 8, 9, 10, 11]
    assert y.tolist() == [0, 1, 2]


def test_stored_sets_are_a_dataset_of_pairs():
    x = RaggedSets(torch.arange(9.0).reshape(9, 1), [2, 0, 3, 4])
    loader = DataLoader(LabelledSets(x, torch.arange(4)), batch_size=3, collate_fn=collate)
    (first, y), (last, z) = loader
    assert first.partition.counts == (2, 0, 3)
    assert torch.equal(first.elements, x.elements[:5])
    assert torch.equal(last, x[3][None])
    assert (y.tolist(), z.tolist()) == ([0, 1, 2], [3])
    dense = LabelledSets(torch.randn(7, 3, 2), torch.arange(7))
    assert len(dense) == len(list(dense)) == 7
    assert torch.equal(dense[-1][0], dense.x[6])
    assert repr(dense) == "LabelledSets(x: (7, 3, 2), y: (7,))"


def test_accuracy_of_sets_of_different_sizes_is_that_of_each_set():
    sizes, target = [1, 4, 2, 3], torch.tensor([0, 2, 1, 0])
    scores = torch.randint(3, (10,)).float()  # with ties
    ragged = RaggedSets(scores, sizes)
    one_by_one = [accuracy(s[None], t[None]) for s, t in zip(ragged, target, strict=True)]
    assert torch.allclose(accuracy(ragged, target), torch.cat(one_by_one))


def test_a_selection_is_never_looked_up_in_another_set():
    scores = RaggedSets(torch.tensor([1.0, 5.0, 2.0]), [0, 1, 2, 0])
    assert accuracy(scores, torch.zeros(4, dtype=torch.int64)).tolist() == [0, 1, 1, 0]
    assert accuracy(scores, torch.tensor([0, 1, -1, 0])).tolist() == [0, 0, 0, 0]


def test_stored_sets_are_a_supply():
    sets = LabelledSets(torch.randn(7, 3, 2), torch.arange(7))
    which = torch.tensor([[6, 0], [2, 2]])
    x, y = sets.batch(which)
    assert torch.equal(x, sets.x[which])
    assert torch.equal(y, which)
    assert torch.equal(sets.part(2, 5)[0], sets.x[2:5])
    assert sets.first(3).num_sets == 3
    double = sets.to("cpu", torch.float64)
    assert (double.x.dtype, double.y.dtype) == (torch.float64, torch.int64)
    with pytest.raises(ValueError, match=r"num must be in 1\.\.7, got 8"):
        sets.first(8)


def test_ties_are_drawn_by_lot_and_nothing_is_selected_by_nan():
    scores = torch.tensor([[1.0, 1.0, 0.0], [0.0, 2.0, 2.0], [3.0, 1.0, 2.0], [math.nan] * 3])
    target = torch.tensor([0, 0, 0, 0])
    assert accuracy(scores, target).tolist() == [0.5, 0.0, 1.0, 0.0]
