"""Cars: a body on four wheels, a cabin with windows, lamps, and what some of them have."""

import math

from torch import Tensor

from symsets.experiments.synthetic.parts import Builder, Parts
from symsets.experiments.synthetic.random import Draws

# hue, saturation and value of each role, and how far each may vary
ROLES = {
    "body": ((0.5, 0.7, 0.7), (0.5, 0.3, 0.3)),
    "roof": ((0.5, 0.5, 0.6), (0.5, 0.4, 0.4)),
    "window": ((0.58, 0.35, 0.3), (0.08, 0.2, 0.15)),
    "wheel": ((0.6, 0.1, 0.18), (0.5, 0.1, 0.08)),
    "head lamp": ((0.14, 0.3, 0.98), (0.03, 0.2, 0.02)),
    "tail lamp": ((0.0, 0.9, 0.8), (0.02, 0.1, 0.1)),
    "trim": ((0.6, 0.1, 0.5), (0.5, 0.1, 0.3)),
}
BODY, ROOF, WINDOW, WHEEL, HEAD, TAIL, TRIM = range(len(ROLES))
QUARTER = math.pi / 2  # turns a cylinder from y to x


def make(draws: Draws) -> Parts:
    """Draw a car for every key."""
    length, width = draws.uniform(0.85, 1.2), draws.uniform(0.34, 0.46)  # halves
    height, wheel = draws.uniform(0.12, 0.2), draws.uniform(0.13, 0.2)
    build = Builder(length)
    floor = wheel * draws.uniform(0.6, 1.0)
    top = floor + 2 * height
    build.add("box", BODY, (0, floor + height, 0), (width, height, length))

    # bonnet and boot: how far the body is rounded or raised in front and behind
    bonnet, boot = draws.uniform(0.02, 0.08), draws.uniform(0.02, 0.12)
    nose = length * draws.uniform(0.3, 0.45)
    build.add("ellipsoid", BODY, (0, top, length - nose), (width * 0.95, bonnet, nose))
    rear = length * draws.uniform(0.2, 0.4)
    has_boot = draws.chance(0.6)
    size = (width * 0.97, boot, rear * 0.98)
    build.add("box", BODY, (0, top, rear - length), size, present=has_boot)
    _add_cabin(build, draws, length, width, top)

    axle, track = length * draws.uniform(0.55, 0.7), width * draws.uniform(0.9, 1.04)
    tyre = draws.uniform(0.05, 0.09)
    for end in (1, -1):
        where = (track, wheel, end * axle)
        size = (wheel, tyre, wheel)
        build.add("cylinder", WHEEL, where, size, roll=QUARTER, mirrored=True)

    lamp, lamp_x = draws.uniform(0.04, 0.08), width * draws.uniform(0.6, 0.85)
    lamp_y = floor + height * draws.uniform(1.0, 1.6)
    build.add("ellipsoid", HEAD, (lamp_x, lamp_y, length), (lamp, lamp * 0.8, 0.05), mirrored=True)
    build.add("box", TAIL, (lamp_x, lamp_y, -length), (lamp, lamp * 0.6, 0.02), mirrored=True)

    bumper = draws.uniform(0.03, 0.08)
    for end in (1, -1):
        low = (0, floor + 0.3 * height, end * length)
        build.add("box", TRIM, low, (width * 0.98, 0.3 * height, bumper))
    spoiler = (width * 0.9, 0.015, draws.uniform(0.05, 0.1))
    lean, has_spoiler = draws.uniform(-0.1, 0.3), has_boot & draws.chance(0.4)
    behind = (0, top + 2 * boot, -length * 0.95)
    build.add("box", TRIM, behind, spoiler, pitch=lean, present=has_spoiler)
    mirror_z = length * draws.uniform(0.1, 0.25)
    mirror = (width + 0.05, top + 0.06, mirror_z)
    build.add("ellipsoid", TRIM, mirror, (0.06, 0.04, 0.03), mirrored=True)
    return build.build()


def _add_cabin(build: Builder, draws: Draws, length: Tensor, width: Tensor, top: Tensor) -> None:
    """Add a boxy or a round cabin, with dark bands for windows."""
    half = length * draws.uniform(0.32, 0.6)
    tall = draws.uniform(0.12, 0.24)
    middle = length * draws.uniform(-0.3, 0.05)
    narrow = width * draws.uniform(0.8, 0.95)
    boxy = draws.chance(0.6)
    lean = draws.uniform(-0.06, 0.06)
    build.add("box", ROOF, (0, top + tall, middle), (narrow, tall, half), pitch=lean, present=boxy)
    size = (narrow, 2 * tall, half * 1.15)
    build.add("ellipsoid", ROOF, (0, top, middle), size, present=~boxy)
    band, where = tall * draws.uniform(0.4, 0.65), (0, top + tall * 1.05, middle)
    for size in ((narrow + 0.012, band, half * 0.85), (narrow * 0.9, band, half + 0.012)):
        build.add("box", WINDOW, where, size, pitch=lean, present=boxy)
    size = (narrow * 0.9, 1.9 * tall, half * 1.12)
    build.add("ellipsoid", WINDOW, (0, top + 0.01, middle + 0.12 * half), size, present=~boxy)
