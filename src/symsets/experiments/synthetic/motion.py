"""How things move when time has a direction: they lose energy, spread and fade."""

from typing import NamedTuple

import torch
from torch import Tensor

KINDS = ("bounce", "slide", "burst", "spread", "fade")
NUM_THINGS = 6
SUBSTEPS = 4  # of the simulation, for each frame


class _Physics(NamedTuple):
    """Ranges, in sides of the picture and seconds."""

    gravity: tuple[float, float] = (0, 0)
    drag: tuple[float, float] = (0, 0)
    restitution: tuple[float, float] = (0.8, 0.9)
    speed: tuple[float, float] = (0, 0)
    radius: tuple[float, float] = (0.06, 0.16)
    diffusion: tuple[float, float] = (0, 0)  # radius² gained in a second
    decay: tuple[float, float] = (0, 0)  # of the opacity, in a second
    soft: bool = False  # a cloud instead of a disc


PHYSICS = {
    "bounce": _Physics(gravity=(2.5, 5), restitution=(0.45, 0.75), speed=(0.1, 0.5)),
    "slide": _Physics(drag=(1.5, 3.0), speed=(1.0, 2.2), restitution=(0.6, 0.9)),
    "burst": _Physics(gravity=(0.6, 1.2), drag=(1.5, 2.5), speed=(0.6, 1.6), radius=(0.03, 0.07)),
    "spread": _Physics(diffusion=(0.01, 0.04), radius=(0.08, 0.14), soft=True),
    "fade": _Physics(decay=(0.7, 1.8), speed=(0.05, 0.3), radius=(0.1, 0.2), soft=True),
}


class Tracks(NamedTuple):
    """Things over time, ``(M, L, K)`` each, ``(M, 1, 1)`` for ``soft``."""

    row: Tensor
    column: Tensor
    radius: Tensor
    opacity: Tensor
    soft: Tensor


def tracks(kinds: Tensor, num_frames: int, fps: float, generator: torch.Generator) -> Tracks:
    """Simulate the things of M clips, each moving in the way of its kind ``(M,)``."""
    M, K = len(kinds), NUM_THINGS

    def draw(name: str, num: int = 1) -> Tensor:
        ranges = torch.tensor([getattr(PHYSICS[kind], name) for kind in KINDS])[kinds]  # (M, 2)
        u = torch.rand(M, num, generator=generator)
        return ranges[:, :1] + (ranges[:, 1:] - ranges[:, :1]) * u

    is_bounce, is_burst = (kinds[:, None] == KINDS.index(k) for k in ("bounce", "burst"))
    place = 0.15 + 0.7 * torch.rand(M, K, 2, generator=generator)
    place = torch.where(is_burst[..., None], place[:, :1], place)  # a burst has one origin
    place[..., 0] = torch.where(is_bounce, 0.6 * place[..., 0], place[..., 0])  # falls from above
    angle = 2 * torch.pi * torch.rand(M, K, generator=generator)
    velocity = torch.stack([angle.sin(), angle.cos()], -1) * draw("speed", K)[..., None]
    radius, growth = draw("radius", K), draw("diffusion", K)
    num_things = torch.randint(2, 5, (M, 1), generator=generator)
    visible = (torch.arange(K) < num_things) | is_burst
    # a clip starts at some time after the beginning, so that its first frame is nothing special
    delay = torch.randint(0, 5, (M, 1, 1), generator=generator)
    time = (delay + torch.arange(num_frames)[:, None]) / fps  # (M, L, 1)
    moved = _simulate(
        place, velocity, radius, draw("gravity"), draw("drag"), draw("restitution"),
        num_frames=num_frames + 4, fps=fps,
    )  # fmt: skip
    when = (delay + torch.arange(num_frames)[:, None])[..., None].expand(M, num_frames, K, 2)
    row, column = moved.gather(1, when).unbind(-1)
    wide = (radius[:, None] ** 2 + growth[:, None] * time).sqrt()
    # what spreads keeps its amount, so it thins out
    thin = (radius[:, None] / wide) ** 2 * torch.exp(-draw("decay")[:, None] * time)
    soft = torch.tensor([PHYSICS[kind].soft for kind in KINDS])[kinds, None, None]
    return Tracks(row, column, wide, thin * visible[:, None], soft.float())


def _simulate(
    place: Tensor,
    velocity: Tensor,
    radius: Tensor,
    gravity: Tensor,
    drag: Tensor,
    restitution: Tensor,
    *,
    num_frames: int,
    fps: float,
) -> Tensor:
    """Return the places ``(M, num_frames, K, 2)`` of things that bounce off the walls of a box."""
    step = 1 / (fps * SUBSTEPS)
    slow = torch.exp(-drag * step)[..., None]
    pull = torch.stack([gravity, torch.zeros_like(gravity)], -1) * step
    low, high = radius[..., None], 1 - radius[..., None]
    places = []
    for _ in range(num_frames):
        places.append(place)
        for _ in range(SUBSTEPS):
            velocity = (velocity + pull) * slow
            place = place + velocity * step
            outside = (place < low) | (place > high)
            place = torch.where(place < low, 2 * low - place, place)
            place = torch.where(place > high, 2 * high - place, place)
            place = torch.maximum(torch.minimum(place, high), low)
            velocity = torch.where(outside, -restitution[..., None] * velocity, velocity)
    return torch.stack(places, 1)
