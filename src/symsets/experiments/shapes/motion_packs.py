"""Many motions in one ``.npz`` file, in one of two forms.

*Skinned*: joint rotations, and bodies that they move. Vertices are relative to the root joint, so
the path of a body does not give the order of frames away.

============ ==================== =====================================================
key          type                 content
============ ==================== =====================================================
quat         (T, K, 4)            rotations in the world, real part last, any scale
offsets      int (M + 1,)         where each sequence starts, and the end
parent       int (J,)             the joint that each joint hangs on, earlier; -1 for none
driver       int (J,)             which of the K rotations moves each joint (optional)
heads        (S, J, 3)            where the joints of each subject are at rest
subject      int (M,)             who moves in each sequence
rest512      (S, 512, 3)          the vertices of each subject at rest
weights512   (512, J)             how much each vertex follows each joint
faces512     int (F, 3)           triangles (optional); there may be other numbers than 512
split        str or int (M,)      train, val, test or 0, 1, 2
============ ==================== =====================================================

*Baked*: ``verts (T, V, 3)`` (times ``scale``, if there is one), ``offsets``, ``faces`` (optional)
and ``split`` as above.

Both may have ``name (M,)``, which are words. All else in a file is left alone.
"""

import os
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from symsets._files import named_errors
from symsets.data._arrays import Content, array_names, read_arrays
from symsets.data.splits import SPLITS, fraction, members
from symsets.experiments.shapes.motions import Motions
from symsets.experiments.synthetic.generated import Device
from symsets.experiments.synthetic.skinning import rotation_from_quaternion, skin

SKINNED = ("quat", "offsets", "parent", "heads", "subject", "split")
BAKED = ("verts", "offsets", "split")


def motion_pack_form(path: Path) -> str | None:
    """Return ``"skinned"``, ``"baked"``, or None if the file is no pack of motions.

    Reads no content.

    Example:
        >>> motion_pack_form(Path("no such file.npz")) is None
        True
    """
    keys = array_names(path)
    if keys.issuperset(SKINNED) and _sizes(keys):
        return "skinned"
    return "baked" if keys.issuperset(BAKED) else None


def _sizes(keys: set[str]) -> list[int]:
    """Return the numbers of vertices that a skinned pack has bodies of, smallest first."""
    found = (re.fullmatch(r"rest(\d+)", key) for key in keys)
    return sorted(int(m[1]) for m in found if m and f"weights{m[1]}" in keys)


class MotionPack:
    """The motions of a packed ``.npz`` file, with the splits that are in it.

    Args:
        path: The file; its name without ending is what tables call the data. Of bodies with
            different numbers of vertices, the smallest is taken.

    Attributes:
        skip: 4: at 24 frames in a second, the mean shape is then about as good as published.
    """

    skip = 4

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.name = self.path.stem
        if not self.path.is_file():
            raise ValueError(f"{self.path} must be a packed .npz file, found no such file")
        self.form = motion_pack_form(self.path)
        if self.form is None:
            raise ValueError(
                f"{self.path} must be a pack of motions with the keys {list(SKINNED)} and rest512 "
                f"and weights512, or {list(BAKED)}"
            )
        size = min(_sizes(array_names(self.path)), default="")
        self._body = [f"{word}{size}" for word in ("rest", "weights", "faces")]
        names = (*SKINNED, *BAKED, *self._body, "driver", "name", "scale")
        with named_errors(self.path):
            self._read(read_arrays(self.path, {}, names))

    def _read(self, content: Content) -> None:
        *rest_and_weights, faces = self._body
        offsets, splits = content["offsets"].tolist(), content["split"].tolist()
        self.split = [SPLITS[split] if split in (0, 1, 2) else split for split in splits]
        if wrong := sorted(set(self.split) - set(SPLITS)):
            raise ValueError(f"split must be one of {list(SPLITS)} or 0, 1, 2, got {wrong[0]!r}")
        num = len(self.split)
        self.names = content.get("name", np.arange(num)).astype(str).tolist()
        self.faces = torch.from_numpy(content[faces]) if faces in content else None
        self.body = [0] * num
        if self.form == "skinned":
            self.parents, self.body = content["parent"].tolist(), content["subject"].tolist()
            self.driver = torch.from_numpy(content.get("driver", np.arange(len(self.parents))))
            keys = ("heads", *rest_and_weights)
            self.heads, self.rest, self.weights = (torch.tensor(content[k]).float() for k in keys)
            frames = torch.from_numpy(content["quat"])
            if min(self.body, default=0) < 0 or self.driver.min() < 0:
                raise ValueError("subject and driver must be counted from 0")
        else:
            vertices = content["verts"] * content.get("scale", np.float32(1))
            frames = torch.from_numpy(vertices.astype(np.float32))
        self._frames = [frames[a:b] for a, b in pairwise(offsets)]
        rising = all(a < b for a, b in pairwise(offsets)) and offsets[:1] == [0]
        counts = {len(self._frames), len(self.names), len(self.body)}
        if not rising or offsets[-1] != len(frames) or counts != {num}:
            raise ValueError(
                f"{self.path} is inconsistent: offsets must rise to the number of frames, "
                f"{len(frames)}, and split, name and subject must have one entry for each sequence"
            )

    def motions(self, split: str, num: int | None = None, device: Device = "cpu") -> Motions:
        """Return the first ``num`` sequences of a split in a random but fixed order, or all."""
        splits = {s: [i for i, word in enumerate(self.split) if word == s] for s in SPLITS}
        which = members(splits, split, f"{self.path} has no motions")
        which = sorted(which, key=lambda i: (fraction(self.names[i]), i))[:num]
        with named_errors(self.path):
            shapes = [self._shapes(i).to(device) for i in which]
            return Motions.join(shapes, [self.names[i] for i in which], faces=self.faces)

    def _shapes(self, i: int) -> Tensor:
        """Return the shapes ``(L, 3, V)`` of a sequence."""
        if self.form != "skinned":
            return self._frames[i].mT  # vertices
        rotation = rotation_from_quaternion(self._frames[i].float())[:, self.driver.long()]
        who = self.body[i]
        return skin(rotation, self.heads[who], self.parents, self.rest[who], self.weights)
