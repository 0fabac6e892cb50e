import pytest
import torch

from symsets.experiments.views import distances
from symsets.experiments.views.distances import agreement, by_pairs, nearest

METHODS = (nearest, by_pairs)


def chamfer(a, b):
    return agreement(a, b).chamfer


def f_score(a, b, threshold):
    return agreement(a, b, [threshold]).f_scores[0]


def reference(a, b):
    """All pairs at once, in float64."""
    return (a.double()[:, None] - b.double()).square().sum(-1)


@pytest.mark.parametrize("chunk", [1, 7, 1000, 2**24])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_chamfer_agrees_with_all_pairs_in_float64(method, dtype, chunk, monkeypatch):
    a, b = torch.rand(60, 3, dtype=dtype), 100 + 1e-3 * torch.rand(45, 3, dtype=dtype)
    ways = {"chunk": chunk} if method is by_pairs else {}
    monkeypatch.setattr(distances, "nearest", lambda a, b: method(a, b, **ways))
    for x, y in ((a, a[:45] + 1e-3), (a, b), (b, b + 1e-4)):
        pairs = reference(x, y)
        expected = (pairs.amin(1).mean() + pairs.amin(0).mean()).item()
        assert chamfer(x, y) == pytest.approx(expected, rel=1e-6, abs=1e-12)
        length = (pairs.amin(1).sqrt().mean() + pairs.amin(0).sqrt().mean()).item()
        found = method(x, y, **ways).double().mean() + method(y, x, **ways).double().mean()
        assert found.item() == pytest.approx(length, rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_large_clouds_agree_with_all_pairs(method, monkeypatch):
    a, b = torch.rand(2000, 3), torch.rand(3000, 3)
    pairs = reference(a, b)
    expected = (pairs.amin(1).mean() + pairs.amin(0).mean()).item()
    monkeypatch.setattr(distances, "nearest", method)
    assert abs(chamfer(a, b) - expected) < 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_half_precision_points_are_compared_in_full(method):
    a, b = torch.rand(50, 3).half(), torch.rand(40, 3).half()
    expected = reference(a, b).amin(1).sqrt()
    found = method(a, b)
    assert found.dtype == torch.float16
    torch.testing.assert_close(found.double(), expected, rtol=1e-3, atol=1e-3)


def test_f_score_is_the_harmonic_mean_of_precision_and_recall():
    a = torch.tensor([[0.0, 0, 0], [1, 0, 0], [5, 0, 0], [9, 0, 0]])
    b = torch.tensor([[0.1, 0, 0], [1.1, 0, 0]])
    assert f_score(a, b, 0.2) == pytest.approx(2 * 0.5 * 1 / 1.5)
    assert f_score(a, b, 0.01) == 0
    assert f_score(a, a, 1e-9) == 1
    assert agreement(a, b, (0.01, 0.2)).f_scores == (0, pytest.approx(2 / 3))


def test_chamfer_is_symmetric_and_zero_for_equal_clouds():
    a, b = torch.rand(30, 3), torch.rand(20, 3)
    assert chamfer(a, b) == pytest.approx(chamfer(b, a))
    assert chamfer(a, a[torch.randperm(30)]) == 0


@pytest.mark.parametrize("method", [nearest, by_pairs])
def test_what_is_not_a_number_gives_no_distance(method):
    a, b = torch.rand(4, 3), torch.rand(5, 3)
    a[1, 2] = torch.nan
    found = method(a, b)
    assert found.isnan().tolist() == [False, True, False, False]
    torch.testing.assert_close(found[[0, 2, 3]], nearest(a[[0, 2, 3]], b))
    assert method(b, a).isnan().all()


def test_chunks_never_hold_more_pairs_than_asked(monkeypatch):
    held = []
    squares = distances._squares

    def watched(x, y):
        held.append(len(x) * len(y))
        return squares(x, y)

    monkeypatch.setattr(distances, "_squares", watched)
    for chunk in (10, 100, 10_000):
        held.clear()
        by_pairs(torch.rand(50, 3), torch.rand(40, 3), chunk)
        assert max(held) <= chunk
        assert sum(held) == 2000
