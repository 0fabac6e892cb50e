"""The hourglass for sets of pictures, and the network made of it."""

import pytest
import torch

from symsets import RaggedSets, schemes
from symsets.models.hourglass import Hourglass
from symsets.models.restoring import RestoringNetwork
from symsets.testing import assert_equivariant

SMALL = {"channels": (8, 16), "num_blocks": (2, 1)}


def woken(net):
    """Give all weights that start at zero some value, so that every part has a say."""
    torch.manual_seed(0)
    for parameter in net.parameters():
        if not parameter.any():
            torch.nn.init.normal_(parameter, std=0.1)
    return net.double().eval()


@pytest.mark.parametrize("scheme", ["siamese-ds", *schemes()])
def test_order_does_not_matter(scheme):
    x = torch.randn(2, 4, 3, 8, 12, dtype=torch.float64)
    assert_equivariant(woken(RestoringNetwork(scheme, **SMALL)), x)
    assert_equivariant(woken(RestoringNetwork(scheme, task="merge", **SMALL)), x, task="merge")


@pytest.mark.parametrize("task", ["transform", "merge"])
def test_ragged_sets_give_what_each_set_gives_alone(task):
    net = woken(RestoringNetwork("dss-mean", task=task, **SMALL))
    x = RaggedSets(torch.randn(5, 3, 8, 8, dtype=torch.float64), [2, 3])
    together = net(x)
    rows = together if task == "merge" else together.elements
    alone = torch.cat([net(s[None]) if task == "merge" else net(s[None])[0] for s in x.to_list()])
    torch.testing.assert_close(rows, alone)


def test_siamese_ds_lets_elements_meet_only_where_they_are_coarsest():
    x = torch.randn(1, 3, 8, 8, 8, dtype=torch.float64)
    net = woken(Hourglass("siamese", (8, 16), (2, 1), middle="dss-max"))
    others = torch.cat([x[:, :1], torch.randn_like(x[:, 1:])], dim=1)
    assert not torch.allclose(net(x)[:, 0], net(others)[:, 0])
    torch.testing.assert_close(net.down[0](x)[:, 0], net.down[0](others)[:, 0])


def test_at_first_nothing_is_added_and_every_weight_can_learn():
    x = torch.randn(2, 3, 3, 8, 8)
    net = RestoringNetwork("dss-mean", **SMALL)
    assert torch.equal(net(x), x)
    net = woken(net)
    net(x.double()).square().sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in net.parameters())
    coloured = RestoringNetwork("dss-mean", in_channels=1, **SMALL)
    assert coloured(x[:, :, :1]).shape == x.shape


def test_gradients_are_those_of_differences():
    net = woken(RestoringNetwork("dss-mean", task="merge", channels=(2, 2), num_blocks=(2, 1)))
    x = torch.randn(1, 2, 3, 4, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(net, (x,))


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: RestoringNetwork("none"), "model must be one of"),
        (lambda: RestoringNetwork("siamese", task="sort"), "task must be one of"),
        (lambda: Hourglass("siamese", (8,), (1, 1)), "must have a number for each resolution"),
        (lambda: RestoringNetwork("siamese", **SMALL)(torch.zeros(1, 2, 3, 7, 8)), "2 divides"),
    ],
)
def test_misuse_gets_a_sentence(make, problem):
    with pytest.raises(ValueError, match=problem):
        make()


@pytest.mark.parametrize("task", ["transform", "merge"])
@pytest.mark.parametrize("model", ["siamese-ds", *schemes()])
def test_all_models_have_about_as_many_parameters_as_those_of_the_paper(model, task):
    with torch.device("meta"):
        net = RestoringNetwork(model, task=task)
    assert 0.94 < sum(p.numel() for p in net.parameters()) / 5.2e6 < 1.06
