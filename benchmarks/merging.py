"""How much better is ``symsets merge`` than what people do with a burst of shots today?

Run ``python benchmarks/merging.py --photos FOLDER [--network DIR] [--out FILE]``, where the folder
holds photographs that no network was trained on, such as the 200 test photographs of BSDS500; those
in scikit-image are measured as well. The middle 256 pixels of each are shot with Gaussian noise,
shifts and turns of up to a degree, rounded to 8 bits. The first shot is neither shifted nor turned,
and its scene is the target. Non-local means and BM3D (where the package ``bm3d`` is installed) are
told the true noise, times a factor that was best on other photographs (``--tune``).

What was measured of a photograph is kept below ``--work``, so the same command goes on after it was
stopped, and measures what is missing. ``--speed`` instead takes the time and memory of five shots
of 2 megapixels.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import torch
from kept import keep
from skimage import data
from skimage.restoration import denoise_nl_means
from torch import Tensor, nn

import symsets
from symsets._files import digest, write_json
from symsets.data.degrading import move
from symsets.models import MergeNetwork
from symsets.saving import find_weights
from symsets.tools.aligning import sample
from symsets.tools.merging import find_maps, merge
from symsets.tools.shot_files import read_shot
from symsets.train import psnr, ssim

SIZE, SPARE = 256, 32  # px of a crop, and around it, where a moved camera looks
TURN = 1.0  # degree
PHOTOS = ("astronaut", "chelsea", "coffee", "hubble_deep_field", "immunohistochemistry", "rocket")
# Of the true noise, for a single shot and for the mean of aligned ones (which interpolation has
# smoothed). The best ones at noise 25 on validation photographs of BSDS500, ten and three of them.
FACTORS = {"non-local means": (0.5, 0.5), "BM3D": (1.0, 0.9)}
TRIED = {"non-local means": (0.3, 0.4, 0.5, 0.6, 0.7), "BM3D": (0.8, 0.9, 1.0, 1.1)}
Denoise = Callable[[Tensor, float], Tensor]


class Setting(NamedTuple):
    """How a burst is shot: noise in grey levels of 255, largest shift in pixels, shots."""

    noise: int
    shift: int
    shots: int = 5

    def __str__(self) -> str:
        return f"noise {self.noise}, shifts to {self.shift}, {self.shots} shots"


MAIN = [Setting(noise, shift) for noise in (10, 25, 50) for shift in (2, 16)]
NUMBERS = [Setting(25, 2, shots) for shots in (1, 2, 4, 8, 16)]
CLEAN = [Setting(0, 2)]


def from_folder(folder: Path | None, limit: int | None) -> Iterator[tuple[str, Tensor]]:
    """Give names and middles of photographs ``(3, S, S)``; the first ones are spread evenly."""
    files = sorted(folder.glob("*.jpg")) if folder is not None else []
    order = sorted(range(len(files)), key=lambda k: (k % 10, k % 20, k))
    for file in (files[k] for k in order[:limit]):
        yield f"{file.parent.name}/{file.stem}", middle(read_shot(file).picture)


def from_scikit_image() -> Iterator[tuple[str, Tensor]]:
    for name in PHOTOS:
        pixels = torch.from_numpy(np.array(getattr(data, name)())).permute(2, 0, 1)
        yield f"scikit-image/{name}", middle(pixels / 255)


def middle(photo: Tensor) -> Tensor:
    side = min(SIZE + 2 * SPARE, *photo.shape[1:]) // 2 * 2
    top, left = ((length - side) // 2 for length in photo.shape[1:])
    return photo[:, top : top + side, left : left + side]


def shoot(name: str, photo: Tensor, setting: Setting) -> tuple[Tensor, Tensor]:
    """Return shots ``(N, 3, 256, 256)`` and their target."""
    paths = torch.Generator().manual_seed(crc32(f"{name} moves".encode()))
    noise = torch.Generator().manual_seed(crc32(f"{name} noise".encode()))
    unit = 2 * torch.rand(setting.shots, 3, generator=paths) - 1
    unit[0] = 0
    angles = math.radians(TURN) * unit[:, 2]
    scenes = photo.expand(setting.shots, -1, -1, -1)
    seen = move(scenes, setting.shift * unit[:, :2], angles, SIZE)
    noisy = 255 * seen + setting.noise * torch.randn(seen.shape, generator=noise)
    spare = (photo.shape[1] - SIZE) // 2
    return noisy.round().clamp(0, 255) / 255, photo[:, spare:-spare, spare:-spare]


def mean_psnr(
    rows: Mapping[str, Callable[[Tensor], Tensor]], bursts: Iterable[tuple[Tensor, Tensor]]
) -> dict[str, float]:
    """Return the mean over bursts, shots and their target, of what each row makes of the shots."""
    found: dict[str, list[float]] = {row: [] for row in rows}
    for shots, target in bursts:
        for row, make in rows.items():
            found[row].append(float(psnr(1.0)(make(shots)[None], target[None])[0]))
    return {row: round(float(np.mean(values)), 2) for row, values in found.items()}


def aligned_mean(shots: Tensor) -> Tensor:
    found, seen = sample(shots, find_maps(shots, 0))
    return ((found * seen).sum(0) / seen.sum(0)).clamp(0, 1)  # the first is seen everywhere


def non_local_means(picture: Tensor, noise: float, factor: float) -> Tensor:
    options = {"patch_size": 5, "patch_distance": 6, "channel_axis": -1}
    pixels, sigma = picture.permute(1, 2, 0).numpy(), noise / 255
    found = denoise_nl_means(pixels, h=factor * sigma, sigma=sigma, **options)
    return torch.from_numpy(found).permute(2, 0, 1).float().clamp(0, 1)


def bm3d_colour(picture: Tensor, noise: float, factor: float) -> Tensor:
    import bm3d

    found = bm3d.bm3d_rgb(picture.permute(1, 2, 0).double().numpy(), factor * noise / 255)
    return torch.from_numpy(found).permute(2, 0, 1).float().clamp(0, 1)


METHODS: dict[str, Callable[[Tensor, float, float], Tensor]] = {
    "non-local means": non_local_means,
    "BM3D": bm3d_colour,
}


class Row(NamedTuple):
    """A way to get a picture from shots, and whether it looks at the first one only."""

    make: Callable[[Tensor, int], Tensor]
    single: bool = False


def rows(network: nn.Module | None, device: str, *, with_bm3d: bool) -> dict[str, Row]:
    """Return what is compared: functions of shots and their noise."""
    mean = lru_cache(1)(aligned_mean)  # of the same tensor of shots
    made = {
        "one shot": Row(lambda shots, noise: shots[0], single=True),
        "mean": Row(lambda shots, noise: shots.mean(0)),
        "median": Row(lambda shots, noise: shots.quantile(0.5, dim=0)),
        "aligned mean": Row(lambda shots, noise: mean(shots)),
    }
    for method in METHODS if with_bm3d else ("non-local means",):
        denoise, (one, several) = METHODS[method], FACTORS[method]
        made[f"one shot, {method}"] = Row(
            lambda shots, noise, denoise=denoise, factor=one: denoise(shots[0], noise, factor),
            single=True,
        )
        made[f"aligned mean, {method}"] = Row(
            lambda shots, noise, denoise=denoise, one=one, several=several: denoise(
                mean(shots),
                noise / math.sqrt(len(shots)),
                several if len(shots) > 1 else one,
            )
        )
    if network is not None:
        join = partial(merge, reference=0, network=network, device=device)
        made["merge, one shot"] = Row(lambda shots, noise: join(shots[:1]), single=True)
        made["merge"] = Row(lambda shots, noise: join(shots))
        made["merge, eight turns"] = Row(lambda shots, noise: join(shots, turns=True))
    return made


def asked(setting: Setting, name: str) -> bool:
    """Whether a row is measured in a setting: of clean shots and other numbers, the cheap ones."""
    if setting in MAIN:
        return True
    return name in ("mean", "aligned mean", "merge") or (
        setting in NUMBERS and name == "aligned mean, non-local means"
    )


def key(row: Row, name: str, setting: Setting, version: str) -> str:
    """Return what a measurement is kept as; those of one shot are the same for all bursts."""
    where = f"noise {setting.noise}, one shot" if row.single else str(setting)
    return f"{name}{version if name.startswith('merge') else ''} | {where}"


def measure(
    name: str, photo: Tensor, table: dict[str, Row], version: str, file: Path
) -> dict[Setting, dict[str, list[float]]]:
    """Return PSNR and SSIM of all rows; those that are in a file already are taken from there."""
    kept = json.loads(file.read_text()) if file.is_file() else {}
    kept.pop("sha256", None)
    found: dict[Setting, dict[str, list[float]]] = {}
    for setting in dict.fromkeys([*MAIN, *NUMBERS, *CLEAN]):
        wanted = {row: key(table[row], row, setting, version) for row in table}
        wanted = {row: word for row, word in wanted.items() if asked(setting, row)}
        if any(word not in kept for word in wanted.values()):
            shots, target = shoot(name, photo, setting)
            for row, word in wanted.items():
                if word not in kept:
                    made = table[row].make(shots, setting.noise)[None]
                    kept[word] = [
                        float(metric(1.0)(made, target[None])[0]) for metric in (psnr, ssim)
                    ]
            write_json(file, kept)
        found[setting] = {row: kept[word] for row, word in wanted.items()}
    return found


def summary(found: dict[str, dict[Setting, dict[str, list[float]]]]) -> list[dict[str, Any]]:
    """Return means over the photographs of each source."""
    sources = list(dict.fromkeys(name.partition("/")[0] for name in found))
    records = []
    for source in sources:
        own = [of for name, of in found.items() if name.startswith(f"{source}/")]
        for setting in own[0]:
            for row in own[0][setting]:
                both = np.mean([of[setting][row] for of in own], axis=0)
                records.append(
                    {
                        "photographs": source,
                        "num": len(own),
                        **setting._asdict(),
                        "row": row,
                        "psnr": round(float(both[0]), 3),
                        "ssim": round(float(both[1]), 4),
                    }
                )
    return records


def show(records: list[dict[str, Any]]) -> None:
    """Print a table of PSNR for each source and setting."""
    for source in dict.fromkeys(record["photographs"] for record in records):
        own = [record for record in records if record["photographs"] == source]
        settings = dict.fromkeys((r["noise"], r["shift"], r["shots"]) for r in own)
        print(f"\n{own[0]['num']} photographs of {source}, PSNR in dB (noise/shifts/shots)")
        print(" " * 32 + "".join(f"{'/'.join(map(str, s)):>9}" for s in settings))
        for row in dict.fromkeys(record["row"] for record in own):
            values = {
                (r["noise"], r["shift"], r["shots"]): r["psnr"] for r in own if r["row"] == row
            }
            print(
                f"{row:32}"
                + "".join(f"{values[s]:9.2f}" if s in values else 9 * " " for s in settings)
            )


def tune(photos: Iterable[tuple[str, Tensor]], methods: Iterable[str]) -> None:
    """Print the mean PSNR of denoisers told the true noise times some factors, at noise 25."""
    some = [shoot(name, photo, Setting(25, 2)) for name, photo in photos]
    cases = {"one shot": [s[0] for s, _ in some], "aligned": [aligned_mean(s) for s, _ in some]}
    for method in methods:
        for case, pictures in cases.items():
            noise = 25 / math.sqrt(1 if case == "one shot" else 5)
            for factor in TRIED[method]:
                made = torch.stack([METHODS[method](x, noise, factor) for x in pictures])
                value = psnr(1.0)(made, torch.stack([y for _, y in some])).mean()
                print(f"{method}, {case}, factor {factor}: {value:.2f} dB", flush=True)


def speed(network: nn.Module | None, device: str, out: Path | None) -> None:
    """Measure five shots of 2 megapixels; a network with random weights takes as long."""
    torch.manual_seed(0)
    height, width = 1200, 1667
    scene = torch.nn.functional.avg_pool2d(torch.rand(1, 3, height + 40, width + 40), 9, 1)[0]
    places = [(0, 0), (3, 8), (7, 1), (12, 14), (20, 20)]
    shots = torch.stack([scene[:, t : t + height, x : x + width] for t, x in places])
    shots = (shots + 0.1 * torch.randn_like(shots)).clamp(0, 1)
    network = MergeNetwork() if network is None else network
    merge(shots[..., :256, :256], reference=0, network=network, device=device)  # warm up
    start, processor = time.perf_counter(), time.process_time()
    maps = find_maps(shots.to(device), 0)
    aligned = time.perf_counter() - start
    merge(shots, reference=0, maps=maps, network=network, device=device)
    seconds = time.perf_counter() - start
    processor = time.process_time() - processor
    if device == "cpu":
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    else:
        most = torch.cuda.max_memory_allocated() / 2**30
    print(
        f"{seconds:.1f} s ({processor:.1f} s of processors), of which {aligned:.1f} s for "
        f"alignment; at most {most:.2f} GB"
    )
    numbers = {"seconds": seconds, "alignment": aligned, "gigabytes": most}
    numbers |= {"processor_seconds": processor, "threads": torch.get_num_threads()}
    keep(out, device=device, shots=5, height=height, width=width, **numbers)


def run_all(jobs: list[Callable[[], Any]]) -> None:
    """Run each in a process of its own."""
    forked = get_context("fork")  # so that functions need no names
    processes = [forked.Process(target=job) for job in jobs]
    for process in processes:
        process.start()
    for process in processes:
        process.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, help="a folder of photographs (.jpg)")
    parser.add_argument("--limit", type=int, help="photographs of the folder")
    parser.add_argument("--network", help="a folder with a trained network, or merge")
    parser.add_argument("--rows", nargs="+", help="measure these only")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--bm3d", action=argparse.BooleanOptionalAction, default=None)
    parser.add_argument("--scikit-image", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--work", type=Path, default=Path("runs/merging"))
    parser.add_argument("--tune", action="store_true", help="try strengths of denoisers instead")
    parser.add_argument("--speed", action="store_true", help="measure time and memory instead")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--processes", type=int, default=1, help="that share the photographs")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    network = symsets.load(options.network) if options.network else None
    if options.speed:
        speed(network, options.device, options.out)
        return
    with_bm3d = options.bm3d if options.bm3d is not None else find_spec("bm3d") is not None
    if options.tune:
        tune(
            from_folder(options.photos, options.limit),
            METHODS if with_bm3d else ["non-local means"],
        )
        return
    version = ""
    if network is not None:
        folder = symsets.saving.PRETRAINED / options.network
        weights = find_weights(folder if folder.is_dir() else Path(options.network))
        assert weights is not None
        version = f" {digest(weights.read_bytes())[:8]}"
    photos = dict(from_folder(options.photos, options.limit))
    photos |= dict(from_scikit_image() if options.scikit_image else ())
    options.work.mkdir(parents=True, exist_ok=True)

    def measure_all(first: int = 0) -> dict[str, dict[Setting, dict[str, list[float]]]]:
        """Measure every so many-th photograph, as there are processes, from one of the first."""
        table, found, start = rows(network, options.device, with_bm3d=with_bm3d), {}, time.time()
        table = {row: table[row] for row in options.rows or table}
        for name in [*photos][first :: options.processes]:
            file = options.work / f"{name.replace('/', ' ')}.json"
            found[name] = measure(name, photos[name], table, version, file)
            print(f"{name} {time.time() - start:.0f} s", flush=True)
        return found

    if options.processes > 1:  # each keeps what it measures in files
        run_all([partial(measure_all, first) for first in range(options.processes)])
        options.processes = 1
    records = summary(measure_all())
    show(records)
    keep(options.out, device=options.device, factors=FACTORS, records=records)


if __name__ == "__main__":
    main()
