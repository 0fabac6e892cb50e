"""What bodies do: angles of their joints over time.

An activity is a table of terms, each of which bends one joint about one axis:
offset + amplitude sin(harmonic · phase + lag). The axes of a joint are those of the room at rest
(x to the left, y up, z ahead); words for them are below. Limbs come in pairs: ``both`` move as
mirror images, ``turns`` the right one half a period later, ``left`` one alone.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from symsets.experiments.synthetic.body import JOINTS

X, Y, Z = range(3)
HALF = torch.pi  # half a period


class Term(NamedTuple):
    """How a joint bends about an axis, in radians."""

    joint: str
    axis: int
    offset: float = 0.0
    amplitude: float = 0.0
    harmonic: float = 1.0
    lag: float = 0.0
    pair: str = "both"


class Activity(NamedTuple):
    """Terms, the range of periods in a second, how restless, and how long extremes are held."""

    terms: tuple[Term, ...]
    tempo: tuple[float, float]
    wander: float
    hold: float


def _swing(leg: float, knee: float, arm: float, elbow: float) -> tuple[Term, ...]:
    """Legs take turns, and each arm swings with the leg of the other side."""
    return (
        Term("thigh", X, -0.15 * leg, leg, pair="turns"),
        Term("shin", X, knee, 0.9 * knee, lag=1.9, pair="turns"),
        Term("foot", X, 0.0, 0.25, lag=0.8, pair="turns"),
        Term("arm", X, 0.0, arm, lag=HALF, pair="turns"),
        Term("forearm", Y, -elbow, 0.3 * elbow, lag=HALF, pair="turns"),
        Term("spine", Y, 0.0, 0.15 * leg),
        Term("chest", Y, 0.0, -0.25 * leg),
        Term("pelvis", Z, 0.0, 0.05),
    )


def _bend(deep: float) -> tuple[Term, ...]:
    """Knees bend and straighten together, the trunk leans forward."""
    return (
        Term("thigh", X, -deep, deep),
        Term("shin", X, 1.5 * deep, -1.5 * deep),
        Term("foot", X, -0.5 * deep, 0.5 * deep),
        Term("spine", X, 0.35 * deep, -0.35 * deep),
    )


# Arms hang down by DOWN; positive angles of an arm about z lift it sideways.
DOWN = -1.15


def _activity(
    tempo: tuple[float, float], *terms: Term, wander: float = 0.06, hold: float = 0.0
) -> Activity:
    return Activity(terms, tempo, wander, hold)


ACTIVITIES = {
    "walk": _activity((0.7, 1.1), *_swing(0.45, 0.35, 0.4, 0.35)),
    "run": _activity((1.1, 1.6), *_swing(0.8, 0.8, 0.7, 1.4)),
    "march": _activity((0.8, 1.2), *_swing(0.7, 0.7, 0.9, 0.1)),
    "squat": _activity((0.35, 0.6), *_bend(0.7), Term("arm", X, -0.6, 0.6), hold=1.0),
    "wave": _activity(
        (0.8, 1.5),
        Term("arm", Z, 1.9, 0.2, pair="left"),
        Term("forearm", Z, 0.6, 0.6, pair="left"),
        Term("pelvis", Y, 0.0, 0.1, 0.5),
    ),
    "bow": _activity(
        (0.25, 0.45),
        Term("spine", X, 0.5, 0.5),
        Term("chest", X, 0.3, 0.3),
        Term("arm", X, -0.5, -0.4),
        hold=1.5,
    ),
    "twist": _activity(
        (0.5, 0.9),
        Term("spine", Y, 0.0, 0.5),
        Term("chest", Y, 0.0, 0.4, lag=-0.3),
        Term("arm", Z, 0.8, 0.25, 2.0),
        Term("forearm", Y, -0.5, 0.3, lag=1.0, pair="turns"),
    ),
    "stretch": _activity(
        (0.25, 0.4),
        Term("arm", Z, 1.4, 1.3),
        Term("spine", Z, 0.0, 0.3, 0.5),
        Term("chest", Z, 0.0, 0.2, 0.5),
        Term("thigh", Z, 0.15, 0.1),
        hold=1.0,
    ),
    "row": _activity(
        (0.4, 0.8),
        *_bend(0.45),
        Term("arm", X, -0.9, 0.7, lag=0.6),
        Term("forearm", Y, -0.9, -0.7, lag=0.6),
        Term("chest", X, 0.1, 0.3, lag=0.4),
    ),
    "sweep": _activity(
        (0.4, 0.8),
        Term("arm", X, -0.7, 0.4),
        Term("forearm", Y, -0.7, 0.3, lag=0.8),
        Term("spine", Y, 0.0, 0.45),
        Term("spine", X, 0.35, 0.1, 2.0),
        Term("thigh", X, -0.2, 0.15, lag=1.0, pair="turns"),
        Term("shin", X, 0.3, 0.15, pair="turns"),
    ),
    "dance": _activity(
        (0.6, 1.1),
        Term("pelvis", Z, 0.0, 0.15),
        Term("thigh", X, -0.2, 0.25, pair="turns"),
        Term("shin", X, 0.4, 0.3, lag=1.5, pair="turns"),
        wander=0.45,
    ),
    # for the test alone
    "jumping jacks": _activity(
        (0.7, 1.2),
        Term("arm", Z, 1.2, 1.25),
        Term("thigh", Z, 0.25, 0.3),
        Term("shin", X, 0.25, 0.2, 2.0),
        Term("thigh", X, -0.12, 0.1, 2.0),
    ),
    "boxing": _activity(
        (0.8, 1.5),
        Term("arm", X, -0.7, 0.6, pair="turns"),
        Term("arm", Z, 0.15, 0.1),
        Term("forearm", Y, -1.4, 0.8, pair="turns"),
        Term("chest", Y, 0.0, 0.4),
        Term("thigh", X, -0.25, 0.1, 2.0),
        Term("shin", X, 0.45, 0.15, 2.0),
        wander=0.12,
    ),
    "kick": _activity(
        (0.5, 0.9),
        Term("thigh", X, -0.5, 0.9, pair="left"),
        Term("shin", X, 0.7, 0.6, lag=-1.2, pair="left"),
        Term("arm", Z, 0.5, 0.3),
        Term("spine", X, -0.1, 0.2),
        Term("pelvis", Y, 0.0, 0.25),
        wander=0.1,
    ),
    "hop": _activity(
        (1.0, 1.6),
        *_bend(0.35),
        Term("arm", X, -0.3, 0.7, lag=0.5),
        Term("forearm", Y, -0.6, 0.2),
        Term("neck", X, 0.0, 0.1),
    ),
}
HELD_OUT_ACTIVITIES = ("jumping jacks", "boxing", "kick", "hop")


def _tables() -> dict[str, Tensor]:
    """Return offset, amplitude, harmonic and lag of all activities, ``(A, J, 3)`` each."""
    shape = (len(ACTIVITIES), len(JOINTS), 3)
    made = {name: torch.zeros(shape) for name in ("offset", "amplitude", "harmonic", "lag")}
    for a, activity in enumerate(ACTIVITIES.values()):
        for side in ("left", "right"):
            made["offset"][a, JOINTS.index(f"{side} arm"), Z] = DOWN
            made["offset"][a, JOINTS.index(f"{side} forearm"), Y] = -0.25
        for term in activity.terms:
            for name, later in _members(term):
                at = (a, JOINTS.index(name), term.axis)
                hanging = term.joint == "arm" and term.axis == Z
                made["offset"][at] = term.offset + (DOWN if hanging else 0.0)
                made["amplitude"][at] = term.amplitude
                made["harmonic"][at] = term.harmonic
                made["lag"][at] = term.lag + later * term.harmonic
    return made


def _members(term: Term) -> list[tuple[str, float]]:
    """Return the joints that a term moves, and how much later in the period."""
    if term.joint in JOINTS:
        return [(term.joint, 0.0)]
    pair = [(f"left {term.joint}", 0.0)]
    if term.pair != "left":
        pair.append((f"right {term.joint}", HALF if term.pair == "turns" else 0.0))
    return pair


_TABLES = _tables()
# A right limb bends as the mirror image of a left one: about x alike, about y and z reversed.
_MIRROR = torch.tensor(
    [[1.0, -1.0, -1.0] if name.startswith("right") else [1.0] * 3 for name in JOINTS]
)
_SWAPPED = [
    JOINTS.index(name.replace("left", "\0").replace("right", "left").replace("\0", "right"))
    for name in JOINTS
]


def angles(which: Tensor, num_frames: int, fps: float, generator: torch.Generator) -> Tensor:
    """Draw motions of activities ``which (M,)``: angles ``(M, L, J, 3)`` about x, y and z.

    Tempo, phase and strength differ from motion to motion; the tempo wavers, every joint wanders
    smoothly about its course, and half of the motions are mirrored.
    """
    M, J = len(which), len(JOINTS)
    activities = list(ACTIVITIES.values())

    def draw(*shape: int) -> Tensor:
        return torch.rand(M, *shape, generator=generator)

    time = torch.arange(num_frames) / fps
    tempo = torch.tensor([a.tempo for a in activities])[which]  # (M, 2)
    tempo = tempo[:, 0] + (tempo[:, 1] - tempo[:, 0]) * draw()
    wavering = 0.5 * _smooth(draw(1, 3, 3), time)[:, :, 0]
    phase = 2 * torch.pi * (tempo[:, None] * time + draw(1)) + wavering  # (M, L)
    offset, amplitude, harmonic, lag = (part[which][:, None] for part in _TABLES.values())
    wave = torch.sin(harmonic * phase[..., None, None] + lag)  # (M, L, J, 3)
    hold = torch.tensor([a.hold for a in activities])[which][:, None, None, None]
    held = torch.tanh(2 * hold * wave) / torch.tanh(2 * hold).clamp(min=1e-6)
    wave = torch.where(hold > 0, held, wave)
    strength = 0.75 + 0.5 * draw(1, J, 3)
    wander = torch.tensor([a.wander for a in activities])[which][:, None, None, None]
    strolls = _smooth(draw(3 * J, 3, 3), time).unflatten(2, (J, 3))
    bent = _MIRROR * (offset + strength * amplitude * wave + wander * strolls)
    # seen in a mirror, left and right limbs change places
    mirrored = bent[..., _SWAPPED, :] * torch.tensor([1.0, -1.0, -1.0])
    return torch.where(draw(1, 1, 1) < 0.5, mirrored, bent)


def _smooth(uniform: Tensor, time: Tensor) -> Tensor:
    """Add up slow waves: ``(M, K, waves, 3)`` random numbers to curves ``(M, L, K)`` of unit size.

    The three numbers are frequency (0.1 to 1 in a second), phase and size.
    """
    frequency, phase, size = uniform.unbind(-1)
    frequency = 0.1 + 0.9 * frequency
    turns = frequency[:, None] * time[:, None, None] + phase[:, None]
    waves = size[:, None] * torch.sin(2 * torch.pi * turns)  # (M, L, K, waves)
    return waves.sum(-1)
