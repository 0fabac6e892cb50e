"""Moving humans that need no download."""

from dataclasses import dataclass

import torch
from torch import Tensor

from symsets._checks import positive
from symsets.experiments.shapes.motions import Motions
from symsets.experiments.synthetic.activities import ACTIVITIES, HELD_OUT_ACTIVITIES, angles
from symsets.experiments.synthetic.body import JOINTS, PARENTS, body
from symsets.experiments.synthetic.generated import Device, split_generator
from symsets.experiments.synthetic.skinning import (
    joint_places,
    rotation_about,
    skin,
    world_rotations,
)

BLOCK = 8  # sequences of one subject
NUM_FRAMES, FPS = 72, 30.0  # of a sequence, and in a second
GIRTHS = {  # what grows together
    "trunk": ("pelvis", "spine", "chest"),
    "legs": ("thigh", "shin"),
    "arms": ("arm", "forearm"),
    "ends": ("neck", "head", "foot", "hand"),
}


@dataclass(frozen=True)
class MovingHumans:
    """Generate motions of people: a skeleton with 17 joints that moves a mesh of 530 vertices.

    The mesh is one closed surface around tapered limbs; it follows the joints by linear blend
    skinning. Subjects differ in height, in the lengths of legs, arms and trunk, and in girth.
    Activities (walk, run, squat, dance, …) are curves of joint angles with a tempo, a strength
    and smooth detours of their own in every sequence. Shapes are relative to the pelvis, so the
    path of the body does not give the order away.

    The split is hard: every split has its own subjects, and four activities (jumping jacks,
    boxing, kick, hop) are in the test alone. Any number can be made, and the first sequences of
    a split stay the same however many are asked for. Random numbers are drawn on the host, so a
    seed gives the same motions on every device (up to rounding).

    Example:
        >>> motions = MovingHumans().motions("test", 3)
        >>> motions.shapes.shape
        torch.Size([216, 3, 530])
        >>> {name.split("_")[1] for name in motions.names} <= set(HELD_OUT_ACTIVITIES)
        True
    """

    num: int = 240  # sequences of a split if no number is asked for
    seed: int = 0

    name = "moving humans"
    skip = 3

    def motions(self, split: str, num: int | None = None, device: Device = "cpu") -> Motions:
        """Return the first ``num`` sequences of a split."""
        num = positive("num", self.num if num is None else num)
        generator = split_generator(self.seed, split)
        known = list(ACTIVITIES)
        seen = [a for a in known if (a in HELD_OUT_ACTIVITIES) == (split == "test")]
        shapes: list[Tensor] = []
        names: list[str] = []  # such as train0_walk_3: subject, activity, number
        for subject in range(-(-num // BLOCK)):
            # a block draws all its numbers even if some of its sequences are not wanted
            drawn = torch.randint(len(seen), (BLOCK,), generator=generator).tolist()
            names += [f"{split}{subject}_{seen[k]}_{len(names) + i}" for i, k in enumerate(drawn)]
            which = torch.tensor([known.index(seen[k]) for k in drawn])
            shapes += self._block(which, generator, device)
        return Motions.join(shapes[:num], names[:num], faces=body().faces)

    def _block(self, which: Tensor, generator: torch.Generator, device: Device) -> list[Tensor]:
        """Return the sequences of one subject, ``(L, 3, V)`` each."""
        heads, rest = (part.to(device) for part in _subject(generator))
        bent = angles(which, NUM_FRAMES, FPS, generator).to(device)  # (M, L, J, 3)
        about = torch.diag_embed(bent)  # one vector along each axis
        x, y, z = rotation_about(about).unbind(-3)  # each (M, L, J, 3, 3)
        rotation = world_rotations(x @ z @ y, PARENTS)
        moved = skin(rotation, heads, PARENTS, rest, body().weights.to(device))
        return list(moved)


def _subject(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw a person: where the joints ``(J, 3)`` and vertices ``(V, 3)`` are at rest."""
    made = body()

    def draw(spread: float) -> float:
        return float(1 + spread * (2 * torch.rand((), generator=generator) - 1))

    height, build = draw(0.12), draw(0.18)
    length = {group: height * draw(0.08) for group in GIRTHS}
    girth = {group: height * build * draw(0.1) for group in GIRTHS}
    stretch = torch.empty(len(JOINTS), 3, 3)
    for joint, name in enumerate(JOINTS):
        part = name.rpartition(" ")[2]
        group = next(group for group, parts in GIRTHS.items() if part in parts)
        along = torch.outer(made.along[joint], made.along[joint])
        stretch[joint] = length[group] * along + girth[group] * (torch.eye(3) - along)
    heads = joint_places(stretch, made.heads, PARENTS)
    rest = skin(stretch[None], made.heads, PARENTS, made.rest, made.weights)[0].mT
    return heads, rest.contiguous()
