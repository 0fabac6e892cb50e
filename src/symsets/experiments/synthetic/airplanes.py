"""Airplanes: a fuselage, swept wings, a tail, and engines."""

import math

from torch import Tensor

from symsets.experiments.synthetic.parts import Builder, Parts
from symsets.experiments.synthetic.random import Draws

# hue, saturation and value of each role, and how far each may vary
ROLES = {
    "fuselage": ((0.5, 0.3, 0.8), (0.5, 0.3, 0.2)),
    "wing": ((0.6, 0.3, 0.65), (0.5, 0.3, 0.25)),
    "tail": ((0.5, 0.8, 0.7), (0.5, 0.2, 0.3)),
    "engine": ((0.6, 0.2, 0.4), (0.5, 0.2, 0.2)),
    "glass": ((0.58, 0.5, 0.25), (0.08, 0.2, 0.1)),
    "tip": ((0.0, 0.8, 0.8), (0.5, 0.2, 0.2)),
    "gear": ((0.6, 0.05, 0.15), (0.5, 0.05, 0.05)),
}
FUSELAGE, WING, TAIL, ENGINE, GLASS, TIP, GEAR = range(len(ROLES))
QUARTER = math.pi / 2  # turns a cylinder from y to z


def make(draws: Draws) -> Parts:
    """Draw an airplane for every key."""
    radius, length = draws.uniform(0.09, 0.16), draws.uniform(0.5, 0.8)
    build = Builder(length)
    build.add("cylinder", FUSELAGE, (0, 0, 0), (radius, length, radius), pitch=QUARTER)
    nose, end = radius * draws.uniform(1.2, 3.0), radius * draws.uniform(2.0, 4.5)
    build.add("ellipsoid", FUSELAGE, (0, 0, length), (radius, radius, nose))
    build.add("ellipsoid", FUSELAGE, (0, radius * 0.15, -length), (radius, radius * 0.85, end))
    glass = (radius * 0.7, radius * 0.65, nose * 0.75)
    build.add("ellipsoid", GLASS, (0, radius * 0.5, length), glass)
    row = length * draws.uniform(0.6, 0.85)
    build.add("box", GLASS, (0, radius * 0.25, 0.05), (radius * 1.01, radius * 0.12, row))
    _add_wings(build, draws, radius, length)
    _add_tail(build, draws, radius, length)

    has_gear = draws.chance(0.4)
    wheel = draws.uniform(0.03, 0.05)
    size, low = (wheel, 0.02, wheel), -radius - wheel
    front, back = (0.0, low, 0.75 * length), (1.2 * radius, low, -0.1 * length)
    build.add("cylinder", GEAR, front, size, roll=QUARTER, present=has_gear)
    build.add("cylinder", GEAR, back, size, roll=QUARTER, present=has_gear, mirrored=True)
    return build.build()


def _add_wings(build: Builder, draws: Draws, radius: Tensor, length: Tensor) -> None:
    """Add wings, what may stand at their tips, and up to two engines below each."""
    span, chord = draws.uniform(0.5, 0.95), draws.uniform(0.11, 0.22)
    sweep, rise = draws.uniform(0.0, 0.55), draws.uniform(-0.05, 0.15)
    root_y, root_z = radius * draws.uniform(-0.6, 0.7), length * draws.uniform(-0.15, 0.25)
    thick = draws.uniform(0.012, 0.022)
    half = span / 2

    def along(share: Tensor | float) -> tuple[Tensor, Tensor, Tensor]:
        """Return a place on the right wing, at a share of its span."""
        out = span * share
        level = out * rise.cos()
        return level * sweep.cos(), root_y + out * rise.sin(), root_z - level * sweep.sin()

    build.add("box", WING, along(0.5), (half, thick, chord), yaw=sweep, roll=rise, mirrored=True)
    x, y, z = along(0.97)
    tip, has_tips = (0.012, 0.07, chord * 0.6), draws.chance(0.5)
    build.add("box", TIP, (x, y + 0.05, z), tip, yaw=sweep, present=has_tips, mirrored=True)
    size, tube = draws.uniform(0.035, 0.06), draws.uniform(0.09, 0.16)
    engine = (size, tube, size)
    num = draws.choice(3)  # engines below a wing

    def add_engines(where: tuple[Tensor, Tensor, Tensor], present: Tensor) -> None:
        build.add("cylinder", ENGINE, where, engine, pitch=QUARTER, present=present, mirrored=True)

    for k, share in enumerate((draws.uniform(0.28, 0.4), draws.uniform(0.55, 0.7))):
        x, y, z = along(share)
        add_engines((x, y - size - thick, z + 0.4 * chord), num > k)
    # without engines below the wings: two beside the tail
    add_engines((radius + size * 0.9, radius * 0.4, -0.75 * length), num == 0)


def _add_tail(build: Builder, draws: Draws, radius: Tensor, length: Tensor) -> None:
    """Add a fin and two stabilisers, low or on top of the fin."""
    high, deep = draws.uniform(0.12, 0.2), draws.uniform(0.08, 0.14)
    lean, end = draws.uniform(-0.5, -0.1), -length - 0.1
    build.add("box", TAIL, (0, radius * 0.6 + high, end), (0.014, high, deep), pitch=lean)
    on_top = draws.chance(0.3)
    level = on_top * (2 * high + radius * 0.3) + (~on_top) * (radius * 0.3)
    back = end - on_top * (high * 0.6)
    span, sweep = draws.uniform(0.14, 0.26), draws.uniform(0.1, 0.6)
    where = (span * sweep.cos(), level, back - span * sweep.sin())
    build.add("box", TAIL, where, (span, 0.012, deep * 0.7), yaw=sweep, mirrored=True)
