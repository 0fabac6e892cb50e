"""Sets for matching colour channels: two photographs, taken apart into six elements."""

import torch
from torch import Tensor

from symsets.data.augment import Augment
from symsets.data.on_the_fly import OnTheFlySets, random_orders


class ColorSets(OnTheFlySets):
    """Six elements: the red, green and blue channels of two photographs, shuffled.

    An element keeps three channels, two of which are zero. Its target is the whole photograph.
    Values are in [0, 1]. In training both photographs move alike (crop, mirror) and the second is
    drawn anew each time.

    Args:
        images: Photographs ``(M, 3, S, S)``, bytes.
        num_sets: Sets of one pass.
        size: Height and width of a picture.
        seed: Fixes the sets for evaluation.

    Shape:
        - sets: ``(B, 6, 3, size, size)``.
        - targets: of the same shape.

    Example:
        >>> sets = ColorSets(torch.randint(256, (5, 3, 80, 80), dtype=torch.uint8), 4)
        >>> x, y = sets.part(0, 4)
        >>> x.shape, bool((x.count_nonzero(2) <= 1).all())
        (torch.Size([4, 6, 3, 64, 64]), True)
    """

    def __init__(self, images: Tensor, num_sets: int, *, size: int = 64, seed: int = 0) -> None:
        super().__init__(images, num_sets, seed=seed)
        self.augment = Augment(size)

    def make(
        self, which: Tensor, generator: torch.Generator | None, *, augment: bool
    ) -> tuple[Tensor, Tensor]:
        num = min(len(self.material), max(self.num_sets, 2))
        one = which % num
        step = torch.randint(1, num, which.shape, device=self.device, generator=generator)
        pair = torch.stack([one, (one + step) % num], dim=1)
        pictures = self.material[pair]  # (B, 2, 3, S, S)
        pictures = self.augment(pictures, generator=generator, move=augment)
        whole = (pictures / 255).repeat_interleave(3, dim=1)
        channel = torch.eye(3, device=self.device).repeat(2, 1)  # (6, 3)
        elements = whole * channel[:, :, None, None]
        order = random_orders(len(which), 6, elements, generator)[:, :, None, None, None]
        order = order.expand_as(whole)
        return elements.gather(1, order), whole.gather(1, order)


def grey(x: Tensor) -> Tensor:
    """Take the one channel that an element has for all three: the trivial predictor."""
    return x.amax(2, keepdim=True).expand_as(x)
