import json

import pytest

from symsets import load
from symsets.models import SignalNetwork
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


@pytest.mark.parametrize("name", ["network.json", "model.safetensors"])
def test_broken_files_get_a_sentence(saved, name):
    (saved / name).write_bytes(b"torn")
    with pytest.raises(ValueError, match="does not hold a readable network"):
        load(saved)


def test_only_registered_networks_are_made(saved):
    (saved / "network.json").write_text(json.dumps({"network": "os.system", "arguments": {}}))
    with pytest.raises(ValueError, match="network must be one of"):
        load(saved)
