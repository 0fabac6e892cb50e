"""Three categories of objects that need no download: cars, airplanes and chairs."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from symsets._checks import check_choice
from symsets.experiments.synthetic import airplanes, cars, chairs
from symsets.experiments.synthetic.parts import Parts
from symsets.experiments.synthetic.random import Draws, make_keys
from symsets.experiments.views.shading import Look, random_look

# Each module has make, which draws the parts of objects, and ROLES, the colours of these parts.
CATEGORIES = {"cars": cars, "airplanes": airplanes, "chairs": chairs}


class Objects(NamedTuple):
    """Shapes, their colours, and the keys that all random numbers about them come from."""

    parts: Parts
    look: Look
    keys: Tensor


def make_objects(
    category: str,
    which: Tensor | Sequence[int],
    *,
    seed: int = 0,
    split: int = 0,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Objects:
    """Make objects of a category, each fixed by its number.

    y points up and z to the front. The tight bounding box is in the middle of the unit cube and
    its diagonal is 1, as in normalised object coordinates (NOCS).

    Args:
        category: ``"cars"``, ``"airplanes"`` or ``"chairs"``.
        which: The numbers of the objects, ``(B,)``; there is no largest one.
        seed: Other seeds give other objects.
        split: As do other splits.
        device: Where to make them.
        dtype: Of the numbers.

    Example:
        >>> low, high = make_objects("chairs", range(5), dtype=torch.float64).parts.extent()
        >>> bool(((high - low).norm(dim=1) - 1).abs().max() < 1e-12)
        True
    """
    check_choice("category", category, CATEGORIES)
    module, place = CATEGORIES[category], list(CATEGORIES).index(category)
    keys = make_keys(which, seed, split, place, device=device)
    draws = Draws(keys, dtype)
    parts = module.make(draws)
    return Objects(parts, random_look(draws, torch.tensor(list(module.ROLES.values()))), keys)
