"""A fine picture of a folder of coarse ones."""

import numpy as np
import pytest
import torch
from PIL import Image

from symsets import save
from symsets.experiments.satellite.enlarging import enlarge_scene
from symsets.experiments.satellite.network import SatelliteNetwork
from symsets.experiments.satellite.scenes import FULL, read_scene
from symsets.experiments.satellite.sets import SceneSets, turned
from symsets.models import build
from symsets.models.turns import over_turns


@pytest.fixture
def trained(tmp_path):
    torch.manual_seed(0)
    net = SatelliteNetwork("dss-mean", channels=4, num_blocks=1, merged_channels=4, num_elements=3)
    torch.nn.init.normal_(net.last.weight, std=0.1)
    save(net.eval(), tmp_path / "run")
    return net, tmp_path / "run"


@pytest.mark.parametrize("turns", [False, True])
def test_a_scene_becomes_what_the_network_makes_of_its_clearest_pictures(layout, trained, turns):
    net, run = trained
    folder = layout / "val" / "RED" / "imgset0000"
    scene = read_scene(folder)
    x, _ = SceneSets([scene], num_elements=3, crop=1).part(0, 1)
    fine = over_turns(net, x, turned) if turns else net(x)
    expected = (fine[0, 0] * FULL).round().clamp(0, FULL)
    for name in ("HR.png", "SM.png"):
        (folder / name).unlink()
    assert enlarge_scene(folder, layout / "fine.png", run, turns=turns, device="cpu") == 3
    found = np.asarray(Image.open(layout / "fine.png")).astype(np.int64)
    assert found.shape == (3 * scene.low.shape[1], 3 * scene.low.shape[2])
    assert np.abs(found - expected.detach().numpy()).max() <= 1


def test_misuse_gets_a_sentence(layout, trained, tmp_path):
    _, run = trained
    folder = layout / "val" / "RED" / "imgset0000"
    with pytest.raises(ValueError, match="nowhere must be a folder with LR000"):
        enlarge_scene(layout / "nowhere", tmp_path / "fine.png", run)
    (folder / "QM000.png").unlink()
    with pytest.raises(ValueError, match=r"imgset0000: \d+ pictures LR and \d+ masks QM"):
        enlarge_scene(folder, tmp_path / "fine.png", run)
    save(build("unet", {"model": "siamese", "widths": [2, 2, 2, 2]}), tmp_path / "other")
    with pytest.raises(ValueError, match="network must be a run of symsets run satellite"):
        enlarge_scene(folder, tmp_path / "fine.png", tmp_path / "other")
