"""Train the network of ``symsets merge``, and put it into the package.

Run ``python training/merge_network.py --photos FOLDER … --out runs/merge --minutes 9``, on a GPU.
Bursts of one to sixteen shots are made of crops of photographs in every step (``ShotSets``). The
same command goes on after it was stopped. With ``--export src/symsets/pretrained/merge`` the
average of the weights is written there in half precision, with a card. ``--photos`` takes folders
of photographs, or files that ``python training/photos.py`` wrote.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import Any

import torch
from photos import SIDE, crops
from torch import Tensor
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

import symsets
from symsets.data.shots import SPARE, Camera, ShotSets
from symsets.experiments.study.records import device_name, source_commit
from symsets.models import MergeNetwork
from symsets.saving import save_registered
from symsets.train import capture

SIZE = SIDE - 2 * SPARE
SHAPES = {1: 128, 2: 80, 3: 56, 4: 40, 5: 32, 8: 20, 16: 10}  # shots in a burst, bursts in a step
TURNS = (1, 2, 3, 4, 5, 5, 5, 8, 8, 16)  # numbers of shots, in turn
RATE, WARM_UP, KEEP = 8e-4, 200, 0.999
SMALLEST = 1e-5  # of a mean squared error: 50 dB
HELD_OUT = 64  # crops, the last ones: of photographs of one crop each, if such a folder comes last
CARD = """# merge

Merges one to sixteen shots of a scene into one picture with less noise: `symsets merge`,
`symsets.merge`. {parameters:.1f} M parameters (`MergeNetwork`), stored in half precision.

- *Trained on* {num:,} crops of 128 pixels from {photos}, of which bursts were made at random
  (`symsets.data.shots.ShotSets`): noise of standard deviation 1 to 50 of 255, shifts, turns, blur,
  shake, changes of exposure, JPEG (most with colours at half the size), noise that colours share,
  grey pictures. No photograph is in the package.
- *Made by* `python training/merge_network.py`, {steps:,} steps, on {device}, at commit {commit}.
- *Measured* on 64 crops that were held out, shots aligned to 0.3 pixels or better, Gaussian noise
  25:

| shots | PSNR, dB |
|---|---|
{rows}

- *Limits.* What moves within the scene may leave traces. Noise of neighbouring pixels that is alike
  (strong JPEG, scaled pictures, raw data after demosaicing) is removed less well.
"""


def loss(output: Tensor, target: Tensor) -> Tensor:
    """Return the mean over pictures of the logarithm of the mean squared error, as PSNR counts."""
    return (output.float() - target).square().mean((1, 2, 3)).add(SMALLEST).log().mean()


def rate(step: int, steps: int) -> float:
    """Return the learning rate: a short rise, then a cosine down to zero."""
    if step < WARM_UP:
        return RATE * (step + 1) / WARM_UP
    return RATE * 0.5 * (1 + math.cos(math.pi * min(1.0, step / steps)))


def psnr(network: Any, sets: ShotSets) -> float:
    """Return the mean PSNR over all sets."""
    found = []
    for start in range(0, sets.num_sets, 8):
        x, y = sets.part(start, start + 8)
        with torch.no_grad(), torch.autocast(x.device.type, torch.bfloat16, enabled=x.is_cuda):
            output = network(x)
        found.append(-10 * (output.float().clamp(0, 1) - y).square().mean((1, 2, 3)).log10())
    return torch.cat(found).mean().item()


def tests(images: Tensor, num: int) -> dict[int, ShotSets]:
    """Return bursts of some sizes of photographs that were not trained on, with noise 25."""
    still = {"poisson": 0, "sharp": 1, "exposure": 0, "jpeg": 0, "alike": 0, "grey": 0}
    camera = Camera(noise=(25.0, 25.0), aligned=1, **still)
    return {
        shots: ShotSets(images, num, num_elements=shots, size=SIZE, camera=camera)
        for shots in (1, 2, 4, 5, 8, 16)
    }


def main() -> None:
    """Train, measure, export."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--scheme", default="dss-mean")
    parser.add_argument("--start", help="a trained network to begin with, such as merge")
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--minutes", type=float, default=9.0, help="stop then, and go on later")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--export", type=Path, help="write the network there in the end")
    options = parser.parse_args()
    start = time.monotonic()
    images = crops(options.photos)
    held_out, images = images[-HELD_OUT:], images[:-HELD_OUT].to(options.device)
    torch.manual_seed(0)
    network = MergeNetwork(options.scheme).to(options.device, memory_format=torch.channels_last)
    if options.start:
        network.load_state_dict(symsets.load(options.start).state_dict())
    average = AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(KEEP))
    optimiser = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=1e-3)
    file, first = options.out / "training.ckpt", 0
    if file.is_file():
        kept = torch.load(file, map_location=options.device, weights_only=True)
        for part, name in ((network, "network"), (average, "average"), (optimiser, "optimiser")):
            part.load_state_dict(kept[name])
        first = kept["step"]
        torch.manual_seed(first)
    step = capture(
        network, optimiser, loss, clip=1.0, precision="bfloat16" if images.is_cuda else "float32"
    )
    sets = {shots: ShotSets(images, len(images), num_elements=shots, size=SIZE) for shots in SHAPES}
    seen, done = torch.zeros((), device=options.device), first

    def save() -> None:
        parts = {"network": network, "average": average, "optimiser": optimiser}
        states = {name: part.state_dict() for name, part in parts.items()}
        options.out.mkdir(parents=True, exist_ok=True)
        torch.save({**states, "step": done}, file.with_suffix(".part"))
        file.with_suffix(".part").replace(file)

    for done in range(first + 1, options.steps + 1):
        for group in optimiser.param_groups:
            group["lr"] = rate(done - 1, options.steps)
        shots = TURNS[done % len(TURNS)]
        which = torch.randint(len(images), (SHAPES[shots],), device=options.device)
        seen = 0.99 * seen + 0.01 * step(*sets[shots].batch(which))
        average.update_parameters(network)
        if done % 500 == 0:
            minutes = (time.monotonic() - start) / 60
            print(f"step {done}  loss {seen.item() / (1 - 0.99 ** (done - first)):.3f}  "
                  f"{minutes:.1f} min", flush=True)  # fmt: skip
            if minutes > options.minutes:
                break
    save()
    average.eval()
    measured = tests(held_out.to(options.device), HELD_OUT)
    found = {n: psnr(average, part) for n, part in measured.items()}
    print("PSNR in dB at noise 25, by number of shots:", found, flush=True)
    if options.export and done == options.steps:
        export(average.module, options.export, found, len(images), options)


def export(
    network: Any, folder: Path, found: dict[int, float], num: int, options: argparse.Namespace
) -> None:
    """Write the network in half precision, and its card."""
    folder.mkdir(parents=True, exist_ok=True)
    halves = {name: value.half() for name, value in network.state_dict().items()}
    save_registered(folder, "merge", network.arguments, halves)
    photos = ", ".join(path.name for path in options.photos)
    rows = "\n".join(f"| {shots} | {value:.2f} |" for shots, value in found.items())
    text = CARD.format(
        photos=photos,
        num=num,
        steps=options.steps,
        commit=source_commit(),
        device=device_name(options.device),
        parameters=sum(p.numel() for p in network.parameters()) / 1e6,
        rows=rows,
    )
    (folder / "card.md").write_text(text)


if __name__ == "__main__":
    main()
