import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from symsets import load
from symsets.experiments.signals.network import SignalNetwork
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
    assert pretrained() == ["colors-dss-sum", "colors-siamese-ds"]
    for name in pretrained():
        card = (PRETRAINED / name / "card.md").read_text(encoding="utf-8")
        assert card.startswith(f"# {name}\n")
    assert sum(file.stat().st_size for file in PRETRAINED.rglob("*")) < 11e6


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


def test_attention_that_was_saved_with_biases_of_its_keys_is_loaded(tmp_path):
    net = SignalNetwork("attention", widths=(4, 4, 2), num_elements=3, length=8).eval()
    biases = {
        name.replace("key.weight", "key.bias"): torch.randn(len(value))
        for name, value in net.state_dict().items()
        if name.endswith("key.weight")
    }
    assert len(biases) == 3
    assert not biases.keys() & net.state_dict().keys()
    save_registered(tmp_path, "signals", net.arguments, {**net.state_dict(), **biases})
    x = torch.randn(2, 3, 1, 8)
    assert torch.equal(load(tmp_path)(x), net(x))


def test_a_description_of_more_than_the_weights_is_refused_before_it_takes_memory(saved):
    described = json.loads((saved / "network.json").read_text())
    described["arguments"]["widths"] = [2**20, 2**20, 2]  # four terabytes
    described.pop("sha256", None)
    (saved / "network.json").write_text(json.dumps(described))
    with pytest.raises(
        ValueError, match=r"network\.json .* numbers where model\.safetensors holds"
    ):
        load(saved)
