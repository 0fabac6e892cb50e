"""Train the network of ``symsets best``, and put it into the package.

Run ``python training/best_network.py --photos FOLDER … --out runs/best --minutes 9``, on a GPU.
Sets of two to eight shots are made of crops of photographs in every step (``SpoiltSets``), in one
half of the steps spoilt in all ways mixed, in the other in one way alone. The same
command goes on after it was stopped. With ``--export src/symsets/pretrained/best`` the average of
the weights is written there in half precision, with a card. ``--photos`` takes folders of
photographs, or files that ``python training/photos.py`` wrote.
"""

from __future__ import annotations

import argparse
import math
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from photos import SIDE, crops
from torch import Tensor
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from symsets.data.spoilt import KINDS, SPARE, SpoiltSets
from symsets.experiments.study.records import device_name, source_commit
from symsets.models import BestNetwork
from symsets.models.sharpness import MEASURES
from symsets.saving import save_registered
from symsets.train import capture

SIZE = SIDE - 2 * SPARE
SHAPES = {2: 48, 3: 32, 4: 24, 6: 16, 8: 12}  # shots in a set, sets in a step
TURNS = (2, 3, 4, 6, 8, 8)  # numbers of shots, in turn
WRONG = [kinds for kind in KINDS for kinds in (KINDS, (kind,))]  # in turn: all mixed, and one alone
RATE, WARM_UP, KEEP = 5e-4, 200, 0.999  # at 1e-3 training diverged after 16,000 steps
DECIBELS = 10.0  # of a score of 1
SHARPER = 4.0  # what scores are multiplied by before the cross entropy
TESTED, TEST_SIZES = 256, (2, 4, 8)
GAP = 64  # crops between those of training and of the test, so that no photograph is in both
CARD = """# best

Ranks the shots of a scene, the best first: `symsets best`, `symsets.tools.ranking.rank`.
{parameters:.1f} M parameters (`BestNetwork`), stored in half precision.

- *Trained on* {num:,} crops of 128 pixels from {photos}, of which sets of two to eight shots were
  made at random (`symsets.data.spoilt.SpoiltSets`): defocus, blur, shake, noise, exposure, JPEG and
  closed apertures, mixed in one half of the sets, one alone in the other; some scenes grey, most
  JPEG with colours at half the size, noise that colours share. No photograph is in the package.
- *Best* is the shot with the highest PSNR against the photograph that it was made of, where a wrong
  brightness or contrast counts a tenth. Scores are differences of it, in decibels.
- *Made by* `python {command}`, on {device}, at commit {commit}.
- *Measured* on {tested} crops of photographs that were held out: how often the best shot is
  the one that is picked, %. Of the classical measures, the best one for each number of shots.

| shots | network | best classical measure |
|---|---|---|
{rows}

- *Limits.* It judges how well a shot shows the scene, not whether eyes are open or a moment is
  good. Shots should show one scene. What was spoilt in a way not seen here is judged by chance.
  Where shots differ in blur or noise alone, a measure of that picks better (`benchmarks/best.py`).
"""


def loss(scores: Tensor, quality: Tensor) -> Tensor:
    """Return the cross entropy of picking the best shot, and how wrong differences of scores are.

    Scores are in units of ten decibels.
    """
    scores, quality = scores.float(), quality / DECIBELS
    wrong = (scores - scores.mean(1, keepdim=True)) - (quality - quality.mean(1, keepdim=True))
    picked = F.cross_entropy(SHARPER * scores, quality.argmax(1))
    return picked + F.smooth_l1_loss(wrong, torch.zeros_like(wrong), beta=0.5)


def rate(step: int, steps: int) -> float:
    """Return the learning rate: a short rise, then a cosine down to zero."""
    if step < WARM_UP:
        return RATE * (step + 1) / WARM_UP
    return RATE * 0.5 * (1 + math.cos(math.pi * min(1.0, step / steps)))


def accuracies(network: Any, sets: SpoiltSets) -> dict[str, float]:
    """Return how often the network, and each classical measure, picks the best shot."""
    right: dict[str, list[Tensor]] = {}
    for start in range(0, sets.num_sets, sets.BLOCK):
        x, quality = sets.part(start, start + sets.BLOCK)
        with torch.no_grad():
            found = {"network": network(x)}
        found |= {name: torch.stack(list(map(by, x))) for name, by in MEASURES.items()}
        for name, scores in found.items():
            right.setdefault(name, []).append(scores.argmax(1) == quality.argmax(1))
    return {name: torch.cat(parts).double().mean().item() for name, parts in right.items()}


def parsed() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, nargs="+", required=True)
    parser.add_argument("--about", help="what the photographs are, for the card")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--scheme", default="dss-mean")
    parser.add_argument("--channels", type=int, nargs="+", default=[32, 64, 96])
    parser.add_argument("--blocks", type=int, nargs="+", default=[2, 2, 2])
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--minutes", type=float, default=9.0, help="stop then, and go on later")
    parser.add_argument("--share", type=float, default=1.0, help="of the sets of a step")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--export", type=Path, help="write the network there in the end")
    return parser.parse_args()


def main() -> None:
    """Train, measure, export."""
    options = parsed()
    start = time.monotonic()
    images = crops(options.photos)
    held_out, images = images[-TESTED:], images[: -TESTED - GAP].to(options.device)
    torch.manual_seed(0)
    network = BestNetwork(options.scheme, channels=options.channels, num_blocks=options.blocks)
    network = network.to(options.device, memory_format=torch.channels_last)
    average = AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(KEEP))
    optimiser = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=1e-3)
    file, first = options.out / "training.ckpt", 0
    parts = {"network": network, "average": average, "optimiser": optimiser}
    if file.is_file():
        kept = torch.load(file, map_location=options.device, weights_only=True)
        for name, part in parts.items():
            part.load_state_dict(kept[name])
        first = kept["step"]
        torch.manual_seed(first)
    step = capture(network, optimiser, loss, clip=1.0, precision="tf32")
    sets = {
        (n, kinds): SpoiltSets(images, len(images), num_elements=n, size=SIZE, kinds=kinds)
        for n in SHAPES
        for kinds in set(WRONG)
    }
    seen, done = torch.zeros((), device=options.device), first
    for done in range(first + 1, options.steps + 1):
        for group in optimiser.param_groups:
            group["lr"] = rate(done - 1, options.steps)
        turn, place = divmod(done, len(TURNS))
        shots, kinds = TURNS[place], WRONG[turn % len(WRONG)]
        num = max(1, round(options.share * SHAPES[shots]))
        which = torch.randint(len(images), (num,), device=options.device)
        seen = 0.99 * seen + 0.01 * step(*sets[shots, kinds].batch(which))
        average.update_parameters(network)
        if done % 100 == 0:
            minutes = (time.monotonic() - start) / 60
            print(f"step {done}  loss {seen.item() / (1 - 0.99 ** (done - first)):.3f}  "
                  f"{minutes:.1f} min", flush=True)  # fmt: skip
            if minutes > options.minutes:
                break
    options.out.mkdir(parents=True, exist_ok=True)
    states = {name: part.state_dict() for name, part in parts.items()}
    torch.save({**states, "step": done}, file.with_suffix(".part"))
    file.with_suffix(".part").replace(file)
    average.eval()
    found = {
        n: accuracies(average, SpoiltSets(held_out.to(options.device), TESTED, num_elements=n))
        for n in TEST_SIZES
    }
    for n, shares in found.items():
        print(f"picks the best of {n}:", {k: round(v, 3) for k, v in shares.items()}, flush=True)
    if options.export and done == options.steps:
        export(average.module, options.export, found, len(images), options)


def export(
    network: Any,
    folder: Path,
    found: dict[int, dict[str, float]],
    num: int,
    options: argparse.Namespace,
) -> None:
    """Write the network in half precision, and its card."""
    folder.mkdir(parents=True, exist_ok=True)
    halves = {name: value.half() for name, value in network.state_dict().items()}
    save_registered(folder, "best", network.arguments, halves)
    rows = []
    for shots, shares in found.items():
        classical = max(MEASURES, key=shares.__getitem__)
        own, other = 100 * shares["network"], 100 * shares[classical]
        rows.append(f"| {shots} | {own:.1f} | {other:.1f} ({classical}) |")
    text = CARD.format(
        photos=options.about or ", ".join(path.name for path in options.photos),
        num=num,
        command=shlex.join(sys.argv),
        commit=source_commit(),
        device=device_name(options.device),
        parameters=sum(p.numel() for p in network.parameters()) / 1e6,
        tested=TESTED,
        rows="\n".join(rows),
    )
    (folder / "card.md").write_text(text)


if __name__ == "__main__":
    main()
