"""Bilinear enlarging as two products with small matrices."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor, nn

__all__ = ["Enlarge"]


class Enlarge(nn.Module):
    """Enlarge pictures bilinearly, as :class:`torch.nn.Upsample` does.

    Rows and columns are enlarged by one matrix each, in the memory order of the pictures. So the
    gradient is a product, too: it needs no atomic additions, and it may run in half precision,
    where autocast forces the library's into float32.

    Args:
        scale: How many times higher and wider the pictures become.
        align_corners: Whether the outermost pixels keep their places.

    Shape:
        - x: ``(B, C, H, W)``.
        - output: ``(B, C, scale H, scale W)``.

    Example:
        >>> x = torch.randn(2, 3, 4, 5)
        >>> library = nn.Upsample(scale_factor=2, mode="bilinear")
        >>> torch.allclose(Enlarge(2)(x), library(x), atol=1e-6)
        True
    """

    def __init__(self, scale: int, *, align_corners: bool = False) -> None:
        super().__init__()
        self.scale = scale
        self.align_corners = align_corners

    def extra_repr(self) -> str:
        """Show the factor."""
        return f"{self.scale}" + (", align_corners=True" if self.align_corners else "")

    def forward(self, x: Tensor) -> Tensor:
        """Enlarge."""
        rows, columns = (self._matrix(length, x) for length in x.shape[-2:])
        pixels = x.permute(0, 2, 3, 1)  # (B, H, W, C); vmap knows no other word for this layout
        if x.is_contiguous() or not pixels.is_contiguous():
            return rows @ x @ columns.mT
        lines = rows @ pixels.flatten(2)
        return (columns @ lines.unflatten(2, pixels.shape[2:])).permute(0, 3, 1, 2)

    def _matrix(self, length: int, like: Tensor) -> Tensor:
        asked = length, self.scale, self.align_corners
        # What is made for a graph that is being traced is no tensor to keep.
        if torch.compiler.is_compiling() or type(like) not in (Tensor, nn.Parameter):
            return _shares(*asked, like.device).to(like.dtype)
        return _cached_shares(*asked, like.dtype, like.device)


@cache  # never evicted: a captured CUDA graph goes on reading at the address it saw
def _cached_shares(
    length: int, scale: int, align_corners: bool, dtype: torch.dtype, device: torch.device
) -> Tensor:
    with torch.inference_mode(False), torch.no_grad():
        # The copy from the CPU ends before it returns, so every CUDA stream may read the result.
        return _shares(length, scale, align_corners, torch.device("cpu")).to(dtype).to(device)


def _shares(length: int, scale: int, align_corners: bool, device: torch.device) -> Tensor:
    """Return the shares ``(scale length, length)`` that old pixels have in new ones."""
    old = torch.arange(length, device=device, dtype=torch.float64)
    new = torch.arange(scale * length, device=device, dtype=torch.float64)
    if align_corners:
        place = new * ((length - 1) / max(1, scale * length - 1))
    else:
        place = ((new + 0.5) / scale - 0.5).clamp(0, length - 1)
    return (1 - (place[:, None] - old).abs()).clamp(min=0)
