"""The network that selects one image of a set."""

from collections.abc import Sequence

from torch import nn

from symsets._checks import check_choice, shown
from symsets.models._blocks import (
    RECIPES,
    Layers,
    check_model,
    default_widths,
    image_size,
)
from symsets.models._convolution import MaxPool2d
from symsets.models.registry import RegisteredNetwork, register_network
from symsets.nn import Sequential
from symsets.sets import Sets

Blocks = tuple[tuple[int, ...], ...]
POOLS = (2, 2, 5)  # after each block
HIDDEN = (256, 128)  # of the DeepSets block
SMALLEST = 62  # px: 62 → 56 → 28 → 22 → 11 → 5 → 1
WIDTHS: dict[str, dict[str, Blocks]] = {
    "published": {
        "siamese": ((50, 50, 100), (100, 100, 180), (200, 200, 256)),
        "dss": ((32, 32, 64), (64, 64, 128), (128, 128, 256)),
        "aittala": ((90, 90, 100), (100, 100, 100), (110, 110, 128)),
    },
    "ours": {  # multiples of 8, as many parameters within 5 %
        "siamese": ((48, 48, 96), (96, 96, 184), (208, 208, 256)),
        "dss": ((32, 32, 64), (64, 64, 128), (128, 128, 256)),
        "aittala": ((88, 88, 96), (96, 96, 104), (112, 112, 128)),
        "attention": ((24, 24, 48), (48, 48, 96), (96, 96, 152)),
        "wreath": ((48, 48, 96), (96, 96, 168), (184, 184, 256)),
    },
}


@register_network("selection")
class SelectionNetwork(RegisteredNetwork):
    r"""Give every image of a set a score: nine convolutions, then a DeepSets block.

    Three blocks of three 3×3 convolutions without padding, each followed by batch normalisation,
    ELU and dropout, end in max-pooling by 2, 2 and 5. What is left of an image (one pixel at
    64 px) is averaged, and a DeepSets block with maxima and outputs (256, 128, 1) scores it. All
    models but ``"siamese"`` have that block, so that elements meet at the end at the latest;
    ``"siamese-ds"`` only there.

    The published form has the released numbers of parameters: 1,756,992 (``"siamese-ds"``,
    ``"sridhar"``), 1,734,594 (``"dss-sum"``, ``"dss-max"``), 1,721,744 (``"aittala"``).

    Args:
        model: ``"siamese"``, ``"siamese-ds"``, ``"dss-sum"``, ``"dss-mean"``, ``"dss-max"``,
            ``"dss-median"``, ``"aittala"``, ``"sridhar"``, ``"attention"``, ``"wreath"``, or
            another scheme (see :func:`symsets.schemes`).
        recipe: ``"published"`` follows the released code: batch normalisation on each branch of
            DSS, the context after it is pooled, and plain sums. ``"ours"`` divides sums by the
            set size and normalises once, after the branches are added.
        widths: Channels of the layers, block by block; those of the recipe if left out. For
            ``"aittala"`` they are those of its map, doubled by concatenation.
        num_elements: Set size of training.
        in_channels: Channels of an image.
        dropout: Rate of dropout. The released code leaves it to its caller.

    Shape:
        - x: ``(B, N, C, H, W)`` or ragged; H and W at least 62.
        - output: scores ``(B, N)``, or ragged with elements ``(T,)``.

    Symmetry:
        Equivariant to :math:`S_N`. Shifts of all images together change the scores only through
        the borders and the windows of the pooling: the symmetry is approximate.

    Example:
        >>> import torch
        >>> net = SelectionNetwork("dss-sum", recipe="published")
        >>> sum(p.numel() for p in net.parameters())
        1734594
        >>> net(torch.randn(2, 3, 3, 64, 64)).shape
        torch.Size([2, 3])
    """

    def __init__(
        self,
        model: str,
        *,
        recipe: str = "ours",
        widths: Sequence[Sequence[int]] | None = None,
        num_elements: int = 20,
        in_channels: int = 3,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_model(model)
        check_choice("recipe", recipe, RECIPES)
        if widths is None:
            widths = default_widths(WIDTHS, model, recipe)
        if len(widths) != len(POOLS) or not all(isinstance(b, Sequence) and b for b in widths):
            raise ValueError(f"widths must hold the channels of three blocks, got {shown(widths)}")
        self.keep("widths", widths)
        layers = Layers(
            model, recipe, num_elements=num_elements, activation=nn.ELU, dropout=dropout
        )
        parts: list[nn.Module] = []
        channels = in_channels
        for block, window in zip(widths, POOLS, strict=True):
            inner = [channels, *(layers.channels(width) for width in block)]
            parts += [layers.block(inner, padding=0), MaxPool2d(window)]
            channels = inner[-1]
        self.features = Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.scores = layers.scores([channels, *HIDDEN, 1])

    def forward(self, x: Sets) -> Sets:
        """Return one score per image."""
        image_size(x, self.arguments["in_channels"], smallest=SMALLEST)
        return self.scores(self.features(x))
