import json
from pathlib import Path

import pytest

from symsets import load
from symsets.experiments.signals.network import SignalNetwork
from symsets.saving import save


@pytest.fixture
def saved(tmp_path):
    net = SignalNetwork("mlp", widths=(4, 4, 2), num_elements=3, length=5)
    save(tmp_path, "signals", net.arguments, net.state_dict())
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
        ("network.json", b"[]", "list indices"),
        ("model.safetensors", b"torn", ""),
    ],
)
def test_broken_files_get_a_sentence(saved, name, content, problem):
    (saved / name).write_bytes(content)
    with pytest.raises(ValueError, match=f"{name} does not hold a readable network: {problem}"):
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
        save(saved, "signals", before.arguments, before.state_dict())
    assert load(saved).arguments == before.arguments
    assert sorted(path.name for path in saved.iterdir()) == ["model.safetensors", "network.json"]


def test_a_disk_that_takes_no_more_is_an_os_error(saved, small_files):
    before = load(saved)
    with small_files(100), pytest.raises(OSError, match="File too large"):
        save(saved, "signals", before.arguments, before.state_dict())
    assert load(saved).arguments == before.arguments
