"""What needs no training, on tables."""

import pytest
import torch

from symsets.experiments.tables.baselines import BASELINES
from symsets.experiments.tables.metrics import area_under_curve
from symsets.experiments.tables.network import TableNetwork
from symsets.experiments.tables.prior import Shape, random_tables
from symsets.experiments.tables.tables import Tables


@pytest.mark.parametrize("name", BASELINES)
def test_classifiers_learn_from_labelled_rows(name):
    torch.manual_seed(0)
    classes = torch.arange(60) % 3
    x = (4 * torch.eye(3)[classes] + torch.randn(60, 3)).unsqueeze(0)
    labels = torch.eye(4)[classes].unsqueeze(0)  # the last class has no row
    output = BASELINES[name](Tables(x[:, :40], labels[:, :40], x[:, 40:]))
    assert output.shape == (1, 20, 4)
    assert area_under_curve(output, classes[None, 40:]) > 0.95
    assert output.argmax(2).max() < 3


def test_a_network_without_blocks_starts_from_the_regressions():
    torch.manual_seed(0)
    tables, _ = random_tables(2, Shape(30, 5, 3, 3), torch.device("cpu"))
    net = TableNetwork("dss-mean", width=8, depth=0)
    torch.nn.init.zeros_(net.head.bias)
    torch.nn.init.zeros_(net.norm.weight)
    torch.testing.assert_close(net(tables), BASELINES["ridge"](tables))
