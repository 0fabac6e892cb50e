"""The network that merges shots: any order, any number, any size."""

import pytest
import torch

from symsets import RaggedSets, load, save
from symsets.models import MergeNetwork, with_reference

SCHEMES = ("siamese", "dss-mean", "dss-max", "attention")


def small(scheme="dss-mean", **options):
    """Return a small network without the zeros that it starts with, in double precision."""
    torch.manual_seed(0)
    options = {"channels": 6, "num_blocks": 2, **options}
    net = MergeNetwork(scheme, merged_channels=(6, 8), merged_blocks=(2, 1), **options)
    for parameter in net.parameters():
        if not parameter.any():
            torch.nn.init.normal_(parameter, std=0.2)
    return net.double()


def shots(*shape, which=0):
    return with_reference(torch.rand(*shape, dtype=torch.float64), which)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("num", [1, 2, 7])
def test_the_order_of_shots_does_not_matter(scheme, num):
    net, x = small(scheme), shots(2, num, 3, 12, 20)
    order = torch.randperm(num)
    torch.testing.assert_close(net(x[:, order]), net(x), rtol=1e-9, atol=1e-9)


def test_it_matters_which_shot_is_the_reference():
    net, x = small(), torch.rand(1, 3, 3, 12, 12, dtype=torch.float64)
    first, last = net(with_reference(x, 0)), net(with_reference(x, 2))
    assert (first - last).abs().max() > 1e-3


@pytest.mark.parametrize("scheme", SCHEMES)
def test_ragged_bursts_give_what_each_gives_alone(scheme):
    net, x = small(scheme), torch.rand(6, 3, 12, 16, dtype=torch.float64)
    y = net(with_reference(RaggedSets(x, [1, 3, 2]), [0, 2, 1]))
    for k, (part, which) in enumerate(zip(x.split([1, 3, 2]), [0, 2, 1], strict=True)):
        alone = net(with_reference(part[None], which))[0]
        torch.testing.assert_close(y[k], alone, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", [(1, 1), (3, 50), (16, 16), (17, 23), (31, 8)])
def test_pictures_may_have_any_size(size):
    net, x = small(), shots(1, 2, 3, *size)
    assert net(x).shape == (1, 3, *size)


def test_what_is_filled_up_is_a_copy_of_the_border():
    net, x = small(), shots(1, 2, 3, 11, 13)
    filled = torch.nn.functional.pad(x[0], [0, 3, 0, 1], mode="replicate")[None]
    torch.testing.assert_close(net(x), net(filled)[..., :11, :13], rtol=1e-9, atol=1e-9)


def test_a_new_network_returns_the_reference():
    net = MergeNetwork(channels=6, num_blocks=1, merged_channels=(6,), merged_blocks=(1,))
    x = with_reference(torch.randn(2, 4, 3, 9, 10), [3, 1])
    assert torch.equal(net(x), torch.stack([x[0, 3, :3], x[1, 1, :3]]))


def test_every_shot_and_every_weight_gets_a_gradient():
    net, x = small(), shots(1, 3, 3, 8, 8).requires_grad_()
    net(x).square().sum().backward()
    assert (x.grad[:, :, :3].flatten(2).abs().amax(2) > 0).all()
    assert all(p.grad is not None and p.grad.any() for p in net.parameters())


def test_gradients_are_those_of_finite_differences():
    net, x = small(channels=2, num_blocks=1), shots(1, 2, 3, 4, 6).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: net(x).square().mean(), x, fast_mode=True)


def test_a_network_comes_back_from_a_folder(tmp_path):
    net, x = small().float().eval(), shots(1, 3, 3, 9, 9).float()
    save(net, tmp_path)
    again = load(tmp_path)
    assert isinstance(again, MergeNetwork)
    assert again.arguments == net.arguments
    assert torch.equal(again(x), net(x))


def test_the_flag_marks_one_element_of_each_set():
    x = torch.randn(2, 3, 4, 2, 2)
    flagged = with_reference(x, [2, 0])
    assert torch.equal(flagged[:, :, :4], x)
    expected = torch.tensor([[0.0, 0, 1], [1, 0, 0]])
    assert torch.equal(flagged[:, :, 4], expected[..., None, None].expand(-1, -1, 2, 2))
    ragged = with_reference(RaggedSets(x.flatten(0, 1), [1, 5]), [0, 3])
    assert ragged.elements[:, 4, 0, 0].tolist() == [1, 0, 0, 0, 1, 0]


@pytest.mark.parametrize("which", [3, -1, [0, 3]])
def test_a_reference_that_is_none_is_named(which):
    with pytest.raises(ValueError, match="which must be an element of each set, got"):
        with_reference(torch.zeros(2, 3, 1, 2, 2), which)


@pytest.mark.parametrize("which", [[0, 1, 2], 1.5, "a", None, [0, None]])
def test_references_that_are_no_numbers_are_refused(which):
    with pytest.raises((TypeError, ValueError)):
        with_reference(torch.zeros(2, 3, 1, 2, 2), which)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"merged_blocks": (1,)}, "must have a number for each resolution, got"),
        ({"merged_channels": (), "merged_blocks": ()}, "must have a number for each resolution"),
        ({"merged_channels": (0, 4, 4)}, "merged_channels must be at least 1, got 0"),
        ({"merged_blocks": 2}, "'int' object is not iterable"),
        ({"channels": 0}, "channels must be at least 1, got 0"),
        ({"scheme": "dss-mode"}, "scheme must be one of"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        MergeNetwork(**options)


def test_pictures_without_a_flag_are_named():
    with pytest.raises(ValueError, match="4"):
        small()(torch.rand(1, 2, 3, 8, 8, dtype=torch.float64))
