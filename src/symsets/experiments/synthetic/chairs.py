"""Chairs: a seat on legs or on a foot, a back of one piece or of slats, arms or none."""

from torch import Tensor

from symsets.experiments.synthetic.parts import Builder, Parts
from symsets.experiments.synthetic.random import Draws

# hue, saturation and value of each role, and how far each may vary
ROLES = {
    "seat": ((0.5, 0.6, 0.7), (0.5, 0.3, 0.3)),
    "back": ((0.5, 0.6, 0.6), (0.5, 0.3, 0.3)),
    "front legs": ((0.08, 0.5, 0.45), (0.06, 0.3, 0.25)),
    "back legs": ((0.6, 0.3, 0.35), (0.1, 0.2, 0.2)),
    "arms": ((0.1, 0.5, 0.5), (0.5, 0.3, 0.3)),
    "cushion": ((0.5, 0.8, 0.8), (0.5, 0.2, 0.2)),
}
SEAT, BACK, FRONT_LEGS, BACK_LEGS, ARMS, CUSHION = range(len(ROLES))
SLATS = 4
Place = tuple[Tensor | float, ...]


def make(draws: Draws) -> Parts:
    """Draw a chair for every key; the seat's top is at height 0."""
    width, depth = draws.uniform(0.36, 0.55), draws.uniform(0.36, 0.5)  # halves
    thick = draws.uniform(0.03, 0.09)
    build = Builder(width)
    is_round = draws.chance(0.25)
    build.add("box", SEAT, (0, -thick, 0), (width, thick, depth), present=~is_round)
    build.add("cylinder", SEAT, (0, -thick, 0), (width, thick, depth), present=is_round)
    cushion = (width * 0.85, draws.uniform(0.04, 0.1), depth * 0.8)
    build.add("ellipsoid", CUSHION, (0, 0, 0.04), cushion, present=draws.chance(0.4))
    _add_back(build, draws, width, depth)
    _add_legs(build, draws, width, depth, thick)
    _add_arms(build, draws, width, depth)
    return build.build()


def _add_back(build: Builder, draws: Draws, width: Tensor, depth: Tensor) -> None:
    """Add a panel, an oval, or slats between two posts, all leaning backwards."""
    high, lean = draws.uniform(0.35, 0.7), -draws.uniform(0.0, 0.3)
    thick, wide = draws.uniform(0.025, 0.06), width * draws.uniform(0.75, 1.0)
    kind = draws.choice(4)  # panel, oval, upright slats, level slats

    def at(height: Tensor) -> tuple[float, Tensor, Tensor]:
        return 0.0, height * lean.cos(), height * lean.sin() - depth + thick

    def add(shape: str, where: Place, size: Place, present: Tensor) -> None:
        build.add(shape, BACK, where, size, pitch=lean, present=present)

    add("box", at(high), (wide, high, thick), kind == 0)
    add("ellipsoid", at(high * 1.1), (wide, high, thick * 1.5), kind == 1)
    _, y, z = at(high)
    post, where, has_posts = (0.03, high, thick), (wide - 0.03, y, z), kind >= 1
    build.add("box", BACK_LEGS, where, post, pitch=lean, present=has_posts, mirrored=True)
    upright, level = (wide * 0.09, high * 0.95, thick * 0.6), (wide, high * 0.1, thick * 0.6)
    for k in range(SLATS):
        share = (2 * k + 1) / SLATS
        add("box", ((share - 1) * wide * 0.9, y, z), upright, kind == 2)
        add("box", at(high * (0.25 + 0.85 * share)), level, kind == 3)
    rail = (wide, draws.uniform(0.03, 0.08), thick * 1.1)
    add("box", at(2 * high), rail, (kind >= 2) | draws.chance(0.3))


def _add_legs(build: Builder, draws: Draws, width: Tensor, depth: Tensor, thick: Tensor) -> None:
    """Add four legs, square or round, straight or splayed; or a column on a round foot."""
    tall, size = draws.uniform(0.25, 0.5), draws.uniform(0.025, 0.055)
    kind = draws.choice(3)  # square, round, one foot
    splay = draws.uniform(0.0, 0.2)
    x, y = width * draws.uniform(0.75, 0.92), -2 * thick - tall
    leg = (size, tall / splay.cos(), size)
    for end, role in ((1, FRONT_LEGS), (-1, BACK_LEGS)):
        where = (x + tall * splay.sin(), y, end * (depth * 0.85 + tall * splay.sin()))
        lean = -end * splay
        for number, shape in enumerate(("box", "cylinder")):
            turned = {"pitch": lean, "roll": splay}
            build.add(shape, role, where, leg, **turned, present=kind == number, mirrored=True)
    foot = kind == 2
    build.add("cylinder", FRONT_LEGS, (0, y, 0), (size * 1.3, tall, size * 1.3), present=foot)
    disc = width * draws.uniform(0.6, 0.95)
    build.add("cylinder", BACK_LEGS, (0, y - tall, 0), (disc, 0.03, disc), present=foot)
    bar, has_bars = (size * 0.6, size * 0.6, depth * 0.85), ~foot & draws.chance(0.4)
    build.add("box", FRONT_LEGS, (x, y * 1.1, 0), bar, present=has_bars, mirrored=True)


def _add_arms(build: Builder, draws: Draws, width: Tensor, depth: Tensor) -> None:
    has_arms = draws.chance(0.45)
    high, wide = draws.uniform(0.2, 0.35), draws.uniform(0.03, 0.06)
    x = width + wide * 0.5
    for where, size in (
        ((x, high, -0.05 * depth), (wide, 0.03, depth * 0.95)),
        ((x, high / 2 - 0.05, depth * 0.7), (wide * 0.7, high / 2 + 0.05, 0.03)),
    ):
        build.add("box", ARMS, where, size, present=has_arms, mirrored=True)
