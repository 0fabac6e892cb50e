"""Descriptions may come from anybody: classes of torch and of ours are made, and nothing else."""

import sys

import pytest
from torch import nn

from symsets.making import make


class Own(nn.Module):
    """A network of somebody's own."""


OWN = f"{__name__}.Own"


def linear(**more):
    return {"class": "torch.nn.Linear", "arguments": {"in_features": 2, "out_features": 3} | more}


@pytest.mark.parametrize(
    "name",
    [
        "os.system",
        "builtins.eval",
        "torch.hub.load",
        "torch.load",
        "symsets.saving.load",
        "symsets.making.import_module",
        "subprocess.Popen",
        "",
        "Linear",
        "torch_geometric.nn.Sequential",  # whose arguments are evaluated
        OWN,
    ],
)
def test_other_classes_need_consent(name):
    with pytest.raises(ValueError, match=r"neither of torch nor of symsets: if you trust it, load"):
        make({"class": name, "arguments": {}})


@pytest.mark.parametrize(
    "name",
    [
        "torch.nn.functional",
        "torch.nn.Parameter",
        "torch.nn.init",
        "symsets.nn.pool",
        "symsets.nn.set_layer",
        "symsets.nn.heads.partial",
        "symsets.nn.heads.nn",
        "symsets.nn.dss.nn",
        "symsets.nn.dss.SetLayer",  # which is found as symsets.nn.SetLayer
        "symsets.models.build",
        "symsets.models.__builtins__",
    ],
)
def test_only_modules_are_made(name):
    with pytest.raises(ValueError, match="class must be that of a module"):
        make({"class": name, "arguments": {}})


def test_a_class_is_made_by_whoever_allows_it(tmp_path, monkeypatch):
    assert isinstance(make({"class": OWN, "arguments": {}}, allow=[Own]), Own)
    (tmp_path / "somebodys.py").write_text("from torch import nn\nclass Net(nn.Module): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    described = {"class": "somebodys.Net", "arguments": {}}
    with pytest.raises(ValueError, match=r"load with allow=\['somebodys.Net'\]"):
        make(described)
    assert "somebodys" not in sys.modules
    assert type(make(described, allow=["somebodys.Net"])).__name__ == "Net"
    with pytest.raises(ValueError, match=r"class 'nobodys.Net' cannot be imported"):
        make({"class": "nobodys.Net", "arguments": {}}, allow=["nobodys.Net"])
    with pytest.raises(TypeError, match="allow must be a list"):
        make(described, allow="somebodys.Net")


@pytest.mark.parametrize(
    ("described", "problem"),
    [
        (linear(in_features=10**30), "'in_features' must not be larger than"),
        (linear(bias="x" * 300), "'bias' must not be longer than 200"),
        (linear(bias={"eval": "1"}), "'bias' must be one of .*'group'"),
        (linear(bias={"function": "system"}), "function must be one of"),
        (linear(bias={"group": "S99999"}), "group must be such as 'S5 x C4'"),
        ({"class": "torch.nn.Linear", "children": {}}, "must be a container to have children"),
        ({"class": "symsets.nn.nothing.X", "arguments": {}}, "cannot be imported"),
    ],
)
def test_a_wrong_description_is_refused(described, problem):
    with pytest.raises(ValueError, match=problem):
        make(described)


def test_no_layer_of_torch_geometric_evaluates_a_description(tmp_path):
    pytest.importorskip("torch_geometric.nn")
    made = tmp_path / "made"
    step = {"tuple": [{"module": linear()}, "x -> x"]}
    arguments = {"input_args": f"x: open({str(made)!r}, 'w')", "modules": [step]}
    with pytest.raises(ValueError, match="neither of torch nor of symsets"):
        make({"class": "torch_geometric.nn.Sequential", "arguments": arguments})
    assert not made.exists()


def test_layers_without_end_are_not_made():
    with pytest.raises(ValueError, match="num_encoder_layers must not be larger than 1000"):
        make({"class": "torch.nn.Transformer", "arguments": {"num_encoder_layers": 10**6}})
    arguments = {"input_size": 2, "hidden_size": 2}
    with pytest.raises(ValueError, match="num_layers must not be larger than 1000, got 1,000,000"):
        make({"class": "torch.nn.LSTM", "arguments": arguments | {"num_layers": 10**6}})
    assert make({"class": "torch.nn.LSTM", "arguments": arguments | {"num_layers": 2}}).num_layers
