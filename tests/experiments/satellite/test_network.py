import pytest
import torch
import torch.nn.functional as F

from symsets import RaggedSets
from symsets.experiments.satellite.network import SatelliteNetwork
from symsets.experiments.satellite.sets import CHANNELS, CLEAR, FINE, RAW, SEEN, mean, turned
from symsets.models.registry import build
from symsets.models.turns import over_turns

MODELS = ("siamese", "dss-mean", "dss-max", "dss-sum", "aittala", "attention")


def make(model="dss-mean", *, asleep=False, **options):
    torch.manual_seed(0)
    sizes = {"channels": 8, "num_blocks": 1, "merged_channels": 8, "merged_blocks": 1}
    network = SatelliteNetwork(model, **sizes, **options).double()
    for parameter in network.parameters():
        if not asleep and not parameter.any():
            torch.nn.init.normal_(parameter, std=0.2)
    return network


def sets(num=4, side=8):
    x = 0.1 * torch.rand(2, num, CHANNELS, side, side, dtype=torch.float64)
    x[:, :, CLEAR] = (torch.rand(2, num, 1, side, side) > 0.2).double()
    x[:, :, SEEN] = (torch.rand(2, num, 1, side, side) > 0.2).double()
    return x


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("gives_mean", [True, False])
def test_the_order_of_pictures_does_not_matter(model, gives_mean):
    network, x = make(model, gives_mean=gives_mean), sets()
    y = network(x)
    assert y.shape == (2, 1, 24, 24)
    moved = network(x[:, torch.randperm(4)])
    torch.testing.assert_close(moved, y, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_ragged_sets_give_what_each_set_gives(model):
    network, x = make(model), sets()
    ragged = RaggedSets(torch.cat([x[0], x[1, :1]]), [4, 1])
    expected = torch.cat([network(x[:1]), network(x[1:, :1])])
    torch.testing.assert_close(network(ragged), expected, rtol=1e-9, atol=1e-9)


def test_a_new_network_gives_the_mean_of_the_clear_pixels():
    network, x = make(asleep=True), sets()
    torch.testing.assert_close(network(x), mean(x))


def test_what_is_under_clouds_does_not_matter():
    network, x = make(), sets()
    x[:, 0, SEEN] = 1  # where no picture is clear, all count
    other = x.clone()
    other[:, :, FINE] += (1 - x[:, :, SEEN]) * torch.rand_like(x[:, :, FINE])
    other[:, :, RAW] += (1 - x[:, :, CLEAR]) * torch.rand_like(x[:, :, RAW])
    assert not torch.equal(other, x)
    torch.testing.assert_close(network(other), network(x), rtol=1e-9, atol=1e-9)


def test_a_constant_is_added_to_the_output():
    network, x = make(), sets()
    brighter = x.clone()
    brighter[:, :, RAW] += 0.3
    brighter[:, :, FINE] += 0.3
    torch.testing.assert_close(network(brighter), network(x) + 0.3)


def test_the_mean_over_turns_commutes_with_turns():
    network, x = make(), sets()
    y = over_turns(network, x, turned)
    for flags in ((True, False, False), (False, True, False), (True, True, True)):
        moved = over_turns(network, turned(x, *flags), turned)
        expected = y.mT if flags[0] else y
        expected = expected.flip([a for a, f in ((-2, flags[1]), (-1, flags[2])) if f])
        torch.testing.assert_close(moved, expected, rtol=1e-9, atol=1e-9)


def test_a_network_is_made_again_from_its_description():
    network = make("dss-max", gives_mean=False)
    again = build("satellite", network.arguments).double()
    again.load_state_dict(network.state_dict())
    x = sets()
    assert torch.equal(again(x), network(x))


def test_sub_pixels_turn_with_the_picture():
    fine = torch.randn(1, 1, 12, 12)
    x = torch.cat([torch.zeros(1, 5, 4, 4), F.pixel_unshuffle(fine, 3)], dim=1)
    out = turned(x, True, False, True)
    assert torch.equal(F.pixel_shuffle(out[:, FINE], 3), fine.mT.flip(-1))


def test_pictures_of_another_kind_are_named():
    with pytest.raises(ValueError, match="x must have images with 14 channels"):
        make()(torch.rand(1, 2, 3, 8, 8, dtype=torch.float64))
