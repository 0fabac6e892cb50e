"""Networks of the package as exported programs, which take other numbers of sets and shots."""

from collections import OrderedDict

import pytest
import torch
from torch import nn
from torch.export import Dim, export

from symsets import lift
from symsets.models import BestNetwork, MergeNetwork, UNet

OPEN = ({0: Dim("B", min=1), 1: Dim("N", min=1)},)
NETWORKS = {
    "unet": lambda: (UNet("dss-sum", num_elements=3, widths=(4, 4, 4, 4)), (2, 3, 3, 64, 64)),
    "merge": lambda: (
        MergeNetwork(channels=8, num_blocks=1, merged_channels=(8,), merged_blocks=(1,)),
        (2, 3, 4, 20, 30),
    ),
    "best": lambda: (BestNetwork(channels=(4, 8), num_blocks=(1, 1)), (2, 3, 3, 24, 32)),
    "lifted, with dropout": lambda: (lift(with_dropout(), "dss-sum"), (2, 3, 3, 8, 8)),
}
pytestmark = [pytest.mark.slow, pytest.mark.no_cover]


def with_dropout():
    parts = {"conv": nn.Conv2d(3, 4, 3), "drop": nn.Dropout(), "flat": nn.Flatten()}
    return nn.Sequential(OrderedDict(parts, last=nn.Linear(144, 2)))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("gradient", [True, False], ids=["with gradient", "without"])
@pytest.mark.parametrize("name", NETWORKS)
def test_programs_take_other_numbers_of_sets_and_shots(name, gradient):
    net, shape = NETWORKS[name]()
    for parameter in net.parameters():
        nn.init.normal_(parameter, std=0.1)  # some parts start at zero
    net.eval()
    with torch.set_grad_enabled(gradient):
        program = export(net, (torch.rand(shape),), dynamic_shapes=OPEN).module()
    with torch.no_grad():
        for size in ((2, 3), (1, 1), (3, 6)):
            x = torch.rand(*size, *shape[2:])
            torch.testing.assert_close(program(x), net(x), rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("name", ["merge", "best"])
def test_programs_take_pictures_of_other_sizes(name):
    net, shape = NETWORKS[name]()
    sides = {3: Dim.AUTO, 4: Dim.AUTO}
    program = export(net.eval(), (torch.rand(shape),), dynamic_shapes=(OPEN[0] | sides,)).module()
    with torch.no_grad():
        for size in ((2, 3, 32, 24), (1, 5, 40, 20)):  # multiples of the stride, as the example
            x = torch.rand(*size[:2], shape[2], *size[2:])
            torch.testing.assert_close(program(x), net(x), rtol=1e-4, atol=1e-4)
