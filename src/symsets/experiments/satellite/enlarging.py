"""What ``symsets merge --scale 3`` does: a fine picture of a folder of coarse ones."""

from pathlib import Path

import torch

from symsets.experiments.satellite.network import SatelliteNetwork
from symsets.experiments.satellite.scenes import read_scene
from symsets.experiments.satellite.sets import SceneSets, turned
from symsets.models.turns import over_turns
from symsets.saving import load
from symsets.tools.shot_files import write_picture
from symsets.train.inputs import chosen_device


def enlarge_scene(
    folder: Path, out: Path, network: Path, *, turns: bool = False, device: str = "auto"
) -> int:
    """Merge the pictures of a scene into one that is three times as fine; return their number.

    Args:
        folder: With ``LR000.png``, ``QM000.png``, … as in ESA's challenge; no truth is needed.
        out: The PNG or TIFF to write, with 16 bits.
        network: The folder of a run of ``symsets run satellite``, with its trained network.
        turns: Take the mean over eight turns, which takes eight times as long.
        device: ``"auto"``, ``"cpu"``, ``"cuda"``, …
    """
    if not folder.is_dir():
        raise ValueError(f"{folder} must be a folder with LR000.png, QM000.png, …, found none")
    trained = load(network)
    if not isinstance(trained, SatelliteNetwork):
        raise ValueError(
            f"network must be a run of symsets run satellite, but {network} holds another one"
        )
    scene = read_scene(folder, truth=False)
    where = chosen_device(device)
    most = int(trained.arguments["num_elements"])
    x, _ = SceneSets([scene], num_elements=most, crop=1, device=where).part(0, 1)
    trained.to(where)
    with torch.no_grad():
        found = over_turns(trained, x, turned) if turns else trained(x)
    picture = found[0].clamp(0, 1).cpu()
    write_picture(out, picture, bits=16)
    return min(len(scene.low), most)
