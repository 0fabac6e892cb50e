import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from symsets import DSS, Sequential, load, save
from symsets.experiments.signals.network import SignalNetwork
from symsets.models import Card
from symsets.nn import Classify
from symsets.saving import PRETRAINED, find_weights, pretrained, save_registered, shrink


@pytest.fixture
def saved(tmp_path):
    net = SignalNetwork("mlp", widths=(4, 4, 2), num_elements=3, length=5)
    save_registered(tmp_path, "signals", net.arguments, net.state_dict())
    return tmp_path


def test_what_was_saved_is_loaded(saved):
    assert load(saved).arguments["num_elements"] == 3
    assert load(str(saved)).training is False


def test_missing_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"path must be a run's directory, .*network\.json"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("network.json", b"torn", "Expecting value"),
        ("network.json", b"\xff\xfe", "'utf-8' codec can't decode byte 0xff"),
        ("network.json", b'{"network": "signals"}', "'arguments' is missing"),
        ("network.json", b"[]", r"it holds \[\]"),
        ("model.safetensors", b"torn", ""),
    ],
)
def test_broken_files_get_a_sentence(saved, name, content, problem):
    (saved / name).write_bytes(content)
    with pytest.raises(ValueError, match=rf"{name} .*: {problem}"):
        load(saved)


def test_only_registered_networks_are_made(saved):
    (saved / "network.json").write_text(json.dumps({"network": "os.system", "arguments": {}}))
    with pytest.raises(ValueError, match="network must be one of"):
        load(saved)


def test_a_kill_in_the_middle_leaves_the_network_that_was_there(saved, monkeypatch):
    def killed(path, content):
        with path.open("wb") as file:
            file.write(b"torn")
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", killed)
    before = load(saved)
    with pytest.raises(KeyboardInterrupt):
        save_registered(saved, "signals", before.arguments, before.state_dict())
    assert load(saved).arguments == before.arguments
    assert sorted(path.name for path in saved.iterdir()) == ["model.safetensors", "network.json"]


def test_a_disk_that_takes_no_more_is_an_os_error(saved, small_files):
    before = load(saved)
    with small_files(100), pytest.raises(OSError, match="File too large"):
        save_registered(saved, "signals", before.arguments, before.state_dict())
    assert load(saved).arguments == before.arguments


def test_networks_of_the_package_are_loaded_by_name_in_single_precision():
    network = load("colors-dss-sum")
    assert {p.dtype for p in network.parameters()} == {torch.float32}
    assert network.training is False
    with pytest.raises(FileNotFoundError, match=r"one of the names .*'colors-dss-sum'"):
        load("colours-dss-sum")


def test_every_network_of_the_package_has_a_card_and_all_are_small():
    assert pretrained() == ["best", "colors-dss-sum", "colors-siamese-ds", "merge"]
    for name in pretrained():
        card = (PRETRAINED / name / "card.md").read_text(encoding="utf-8")
        assert card.startswith(f"# {name}\n")
    assert sum(file.stat().st_size for file in PRETRAINED.rglob("*")) < 20e6


def test_a_run_without_weights_takes_those_of_the_package(saved):
    (saved / "model.safetensors").unlink()
    described = json.loads((saved / "network.json").read_text())
    (saved / "network.json").write_text(json.dumps({**described, "pretrained": "nothing"}))
    assert find_weights(saved) is None
    other = json.loads((PRETRAINED / "colors-dss-sum" / "network.json").read_text())
    (saved / "network.json").write_text(json.dumps({**other, "pretrained": "colors-dss-sum"}))
    state = load("colors-dss-sum").state_dict()
    assert all(torch.equal(value, state[name]) for name, value in load(saved).state_dict().items())


def test_small_files_hold_nearly_the_same_weights(tmp_path):
    net = SignalNetwork("mlp", widths=(160, 40, 20), num_elements=8, length=40)
    with torch.no_grad():
        next(net.parameters())[0] = 0  # blocks of zeros
    small = shrink(net.state_dict())
    save_registered(tmp_path, "signals", net.arguments, small)
    types = {value.dtype for value in load_file(tmp_path / "model.safetensors").values()}
    assert types >= {torch.int8, torch.float16}
    for name, value in load(tmp_path).state_dict().items():
        before = net.state_dict()[name]
        assert value.dtype == before.dtype
        assert (value - before).abs().max() <= before.abs().max() / 250
    assert sum(v.numel() * v.element_size() for v in small.values()) < 0.3 * sum(
        v.numel() * v.element_size() for v in net.state_dict().values()
    )


@pytest.mark.parametrize(
    "module",
    [
        [],
        {"class": 3, "arguments": {}},
        {"class": "torch.nn.Linear", "arguments": []},
        {"class": "torch.nn.Linear", "arguments": {"width": 3}},
        {"class": "torch.nn.Linear", "arguments": {"bias": {"float": "much"}}},
        {"lift": {"model": [], "scheme": "dss-sum", "where": [1], "size": 1.0}},
    ],
)
def test_a_description_of_nothing_is_named(saved, module):
    (saved / "network.json").write_text(json.dumps({"module": module}))
    with pytest.raises(ValueError, match=r"network\.json must be the description of a network"):
        load(saved)


def test_a_description_of_more_than_the_weights_is_refused_before_it_takes_memory(saved):
    described = json.loads((saved / "network.json").read_text())
    described["arguments"]["widths"] = [2**20, 2**20, 2]  # four terabytes
    described.pop("sha256", None)
    (saved / "network.json").write_text(json.dumps(described))
    with pytest.raises(
        ValueError, match=r"network\.json .* numbers where model\.safetensors holds"
    ):
        load(saved)


class Own(nn.Module):
    """A network of somebody's own."""

    def __init__(self, width):
        super().__init__()
        self.width = width
        self.map = DSS(nn.Linear(3, width))

    def forward(self, x):
        return self.map(x)


def small_network():
    return Sequential(DSS(nn.Linear(3, 4)), nn.BatchNorm1d(4), nn.ReLU(), Classify(4, 2))


CARD = Card("classify", "vectors", classes=("cat", "dog"), metrics={"accuracy": 0.5})


def test_any_network_is_saved_with_what_it_is_for(tmp_path):
    net = small_network()
    net(torch.randn(8, 5, 3))  # moves the batch statistics
    net.eval().card = CARD
    save(net, tmp_path / "some" / "where")
    loaded = load(tmp_path / "some" / "where")
    x = torch.randn(2, 5, 3)
    assert torch.equal(loaded(x), net(x))
    assert loaded.card == CARD
    assert loaded.training is False
    assert {path.name for path in (tmp_path / "some" / "where").iterdir()} == {
        "network.json",
        "model.safetensors",
    }


def test_a_registered_network_is_saved_by_its_name(tmp_path):
    net = SignalNetwork("mlp", widths=(4, 4, 2), num_elements=3, length=5).eval()
    save(net, tmp_path)
    described = json.loads((tmp_path / "network.json").read_text())
    assert described["network"] == "signals"
    x = torch.randn(2, 3, 1, 5)
    assert torch.equal(load(tmp_path)(x), net(x))


def test_weights_of_two_names_and_of_double_precision_are_saved(tmp_path):
    layer = nn.Linear(3, 3)
    net = nn.Sequential(layer, nn.Tanh(), layer).double()
    save(net, tmp_path)
    loaded = load(tmp_path)
    x = torch.randn(2, 3, dtype=torch.float64)
    assert torch.equal(loaded(x), net(x))
    assert loaded[0] is loaded[2]


def test_a_class_of_somebodys_own_is_loaded_with_consent(tmp_path):
    net = Own(4)
    save(net, tmp_path)
    with pytest.raises(ValueError, match=r"network\.json .*if you trust it, load with allow=\["):
        load(tmp_path)
    x = torch.randn(2, 5, 3)
    assert torch.equal(load(tmp_path, allow=[Own])(x), net(x))
    with pytest.raises(TypeError, match="allow must be a list of classes or their names, got None"):
        load(tmp_path, allow=None)


def test_what_cannot_be_described_is_not_saved(tmp_path):
    net = Classify(3, 2)
    net.mlp = nn.Linear(3, 7)
    with pytest.raises(ValueError, match="net cannot be described"):
        save(net, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    with pytest.raises(ValueError, match="net must have real weights to be saved, got complex"):
        save(nn.Linear(3, 2, dtype=torch.complex64), tmp_path / "new")
    net = nn.Linear(3, 2)
    net.forward = lambda x: x
    with pytest.raises(ValueError, match=r"net \(Linear\) has hooks or a forward that no file"):
        save(net, tmp_path / "new")
    net = Classify(3, 2)
    net.card = {"task": "classify"}
    with pytest.raises(TypeError, match=r"net\.card must be a Card, got dict"):
        save(net, tmp_path / "new")


def test_a_file_in_place_of_the_folder_is_named(saved):
    with pytest.raises(ValueError, match=r"path must be a folder, got the file .*network\.json"):
        save(Classify(3, 2), saved / "network.json")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda d: d["card"].update(task="sort"), "task must be one of"),
        (lambda d: d.update(card=[]), "content must be a Mapping"),
        (lambda d: d["module"].update({"class": "os.system"}), "if you trust it"),
        (lambda d: d.update(module={"same": "x"}), "'x' is missing"),
        (lambda d: d.pop("module"), "'network' is missing"),
    ],
)
def test_a_changed_description_is_refused_by_name(tmp_path, change, problem):
    net = small_network()
    net.card = CARD
    save(net, tmp_path)
    described = json.loads((tmp_path / "network.json").read_text())
    change(described)
    (tmp_path / "network.json").write_text(json.dumps(described))
    with pytest.raises(ValueError, match=r"network\.json .*it was changed after it was written"):
        load(tmp_path)
    del described["sha256"]
    (tmp_path / "network.json").write_text(json.dumps(described))
    with pytest.raises(ValueError, match=rf"network\.json .*{problem}"):
        load(tmp_path)


def test_a_vast_description_takes_no_memory(tmp_path):
    save(Sequential(DSS(nn.Linear(3, 4))), tmp_path)
    described = json.loads((tmp_path / "network.json").read_text())
    del described["sha256"]
    for part in ("element", "context"):
        inside = described["module"]["children"]["0"]["arguments"][part]["module"]
        inside["arguments"].update(in_features=2**25, out_features=2**25)
    (tmp_path / "network.json").write_text(json.dumps(described))
    with pytest.raises(ValueError, match=r"numbers where model\.safetensors holds 28"):
        load(tmp_path)


def test_a_kill_between_the_files_of_another_network_is_noticed(tmp_path, monkeypatch):
    save(nn.Linear(3, 4), tmp_path)

    def killed(path, content):
        raise KeyboardInterrupt

    monkeypatch.setattr("symsets.saving.write_json", killed)
    with pytest.raises(KeyboardInterrupt):
        save(nn.Linear(5, 4), tmp_path)
    with pytest.raises(ValueError, match=r"model\.safetensors does not hold a readable network"):
        load(tmp_path)
