import pytest
import torch

from symsets import RaggedSets, load, save
from symsets.models import BestNetwork, build

SMALL = {"channels": (4, 6), "num_blocks": (1, 2), "hidden": (8,)}


def network(scheme="dss-mean", **more):
    """Return a small network in double precision, none of whose weights are zero."""
    torch.manual_seed(1)
    net = BestNetwork(scheme, **{**SMALL, **more}).double()
    for parameter in net.parameters():
        if not parameter.any():
            torch.nn.init.normal_(parameter, std=0.3)
    return net.eval()


def pictures(*shape):
    return torch.rand(*shape, dtype=torch.float64)


@pytest.mark.parametrize("scheme", ["siamese", "dss-mean", "dss-max", "attention"])
@pytest.mark.parametrize("num", [1, 2, 7])
def test_scores_move_with_the_shots_and_ragged_sets_get_those_of_dense_ones(scheme, num):
    net, x, order = network(scheme), pictures(2, num, 3, 13, 18), torch.randperm(num)
    scores = net(x)
    assert scores.shape == (2, num)
    torch.testing.assert_close(net(x[:, order]), scores[:, order], rtol=1e-9, atol=1e-9)
    ragged = net(RaggedSets(torch.cat([x[0], x[1, :1]]), [num, 1]))
    torch.testing.assert_close(ragged.elements[:num], scores[0], rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(ragged.elements[num:], net(x[1:, :1])[0], rtol=1e-9, atol=1e-9)


def test_shots_are_compared_with_each_other():
    net, x = network(), pictures(1, 3, 3, 16, 16)
    other = x.clone()
    other[:, 2] = pictures(3, 16, 16)
    assert not torch.allclose(net(x)[:, :2], net(other)[:, :2])


def test_gradients_are_right():
    net, x = network(), pictures(1, 2, 3, 8, 8).requires_grad_()
    assert torch.autograd.gradcheck(lambda y: net(y), (x,), fast_mode=True)
    net.train()(x).square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in net.parameters())


def test_empty_batches_and_empty_sets_have_no_scores():
    net = network()
    assert net(pictures(0, 4, 3, 9, 9)).shape == (0, 4)
    assert net(pictures(2, 0, 3, 9, 9)).shape == (2, 0)


def test_flat_pictures_have_finite_scores_and_gradients():
    net, x = BestNetwork(**SMALL).double(), pictures(1, 2, 3, 16, 16).zero_().requires_grad_()
    assert net.first(torch.zeros(1, 1, 24, 8, 8).double()).var((3, 4)).max() == 0
    assert net(x).isfinite().all()
    net(x).sum().backward()
    assert x.grad.isfinite().all()


def test_it_has_less_than_two_million_parameters_and_is_made_again_by_name(tmp_path):
    net = BestNetwork()
    assert sum(p.numel() for p in net.parameters()) < 2_000_000
    small = build("best", {**SMALL, "scheme": "dss-max"})
    save(small, tmp_path)
    x = torch.rand(1, 4, 3, 16, 16)
    again = load(tmp_path)
    assert isinstance(again, BestNetwork)
    assert again.arguments["scheme"] == "dss-max"
    assert torch.equal(again(x), small.eval()(x))


def test_scores_have_full_precision_under_autocast():
    net = BestNetwork(**SMALL).eval()
    x = torch.rand(1, 3, 3, 16, 16)
    with torch.autocast("cpu", torch.bfloat16):
        scores = net(x)
    assert scores.dtype == torch.float32
    torch.testing.assert_close(scores, net(x), atol=0.05, rtol=0.05)


def test_it_learns_which_shots_are_noisy():
    torch.manual_seed(0)
    net = BestNetwork(channels=(8, 8), num_blocks=(1, 1), hidden=(16,))
    optimiser = torch.optim.AdamW(net.parameters(), lr=3e-3)

    def sets(num):
        smooth = torch.nn.functional.interpolate(torch.rand(num, 3, 4, 4), size=24, mode="bilinear")
        level = 0.15 * torch.rand(num, 4)
        x = smooth[:, None] + level[..., None, None, None] * torch.randn(num, 4, 3, 24, 24)
        return x, level.argmin(1)

    for _ in range(60):
        x, best = sets(8)
        torch.nn.functional.cross_entropy(net(x), best).backward()
        optimiser.step()
        optimiser.zero_grad()
    x, best = sets(64)
    assert (net.eval()(x).argmax(1) == best).double().mean() > 0.75


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"channels": (8,), "num_blocks": (1, 1)}, "must have a number for each resolution"),
        ({"channels": (0, 8)}, "channels must be at least 1, got 0"),
        ({"colors": 0}, "colors must be at least 1, got 0"),
        ({"scheme": "dss-mode"}, "scheme must be one of"),
        ({"channels": 8}, "'int' object is not iterable"),
        ({"hidden": 8}, "'int' object is not iterable"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        BestNetwork(**{**SMALL, **arguments})


def test_other_pictures_are_named():
    net = BestNetwork(**SMALL)
    with pytest.raises(ValueError, match="x must have images with 3 channels"):
        net(torch.rand(1, 2, 1, 16, 16))
    with pytest.raises(ValueError, match="x must have images of at least 5×5 pixels, got 9×3"):
        net(torch.rand(1, 2, 3, 9, 3))  # there are no slopes to measure
    with pytest.raises(ValueError, match="x must be sets of images of one size"):
        net(torch.rand(2, 3, 16, 16))
