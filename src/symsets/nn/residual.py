"""Blocks that add what they compute to what they were given."""

from __future__ import annotations

from typing import Any

from torch import nn

from symsets.nn._maps import check_keeps_input
from symsets.nn.sequential import Sequential
from symsets.sets import RaggedSets, fold


class Residual(Sequential):
    r"""Add to every element what a chain of modules makes of it.

    .. math:: x_i + L(X)_i

    Nothing stands on the path of :math:`x`: normalise and apply the activation first, as in
    ``Residual(SetNorm(64), nn.ReLU(), DSS(nn.Linear(64, 64)))``. Then deep stacks of blocks learn,
    where those that normalise the sum do not (Zhang et al., 2022).

    Args:
        modules: Set layers and plain modules, as for :class:`Sequential`, that keep the shape of
            elements.

    Shape:
        - x: ``(B, N, *E)`` or ragged; the output as well.

    Symmetry:
        That of all its parts together.

    Example:
        >>> import torch
        >>> from symsets import DSS
        >>> block, x = Residual(nn.ReLU(), DSS(nn.Linear(8, 8))), torch.randn(2, 5, 8)
        >>> torch.allclose(block(x) - x, block[1](x.relu()), atol=1e-6)
        True
    """

    def add_module(self, name: str, module: nn.Module | None) -> None:
        """Add a module; the first must not change in place what the others' output is added to."""
        if isinstance(module, nn.Module):
            check_keeps_input("the first of modules", *self._modules.values(), module)
        super().add_module(name, module)
        if not self.returns_sets:
            raise ValueError(
                f"modules must return sets that can be added to x, got {type(module).__name__}"
            )

    def forward(self, x: Any, *args: Any) -> Any:
        y = super().forward(x, *args)
        before, after = _shape(x), _shape(y)
        if before != after:  # torch would spread one channel over all
            raise ValueError(
                f"modules must keep the shape of elements, got {after} from {before}: "
                "let a layer before the block change it"
            )
        return x + y


def _shape(x: Any) -> tuple[int, ...]:
    rows, _ = fold(x)
    return _shape(rows) if isinstance(rows, RaggedSets) else tuple(rows.shape[1:])
