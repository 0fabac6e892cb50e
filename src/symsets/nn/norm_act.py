"""A set layer with its normalisation and activation."""

from typing import Any

from torch import Tensor, nn

from symsets import ops
from symsets._checks import check_kind
from symsets.nn._explain import explained
from symsets.nn.base import SetModule
from symsets.nn.dss import DSS
from symsets.nn.sequential import takes_sets
from symsets.ops._dispatch import kernel
from symsets.sets import RaggedSets, Sets, add_to_elements, map_elements


class NormAct(SetModule):
    r"""Normalise what a set layer returns, and apply an activation.

    .. math:: \operatorname{act}\bigl(\operatorname{norm}(L(X)_i)\bigr)

    The numbers are those of ``Sequential(layer, norm, act)``. On a GPU, training with batch
    normalisation passes through memory half as often (see :func:`symsets.ops.norm_act`):
    the sum of a :class:`DSS` layer is never written there. That is so in captured steps
    (``symsets.train.capture``, ``symsets.train.fit``), where layer, norm and activation are one
    operation and are not called as modules; elsewhere they are.

    Args:
        layer: A set layer.
        norm: Applied to single elements, such as ``nn.BatchNorm2d``.
        act: The activation; none if left out.

    Shape:
        - x: What ``layer`` takes; the output has the shape that it returns.

    Symmetry:
        That of ``layer``, if ``norm`` treats all entries of a channel alike.

    Example:
        >>> import torch
        >>> layer = DSS(nn.Conv2d(3, 8, 3, padding=1))
        >>> norm = nn.BatchNorm2d(8)
        >>> x = torch.randn(2, 5, 3, 16, 16)
        >>> together = NormAct(layer, norm, nn.ReLU())(x)
        >>> torch.allclose(together, torch.relu(norm(layer(x).flatten(0, 1))).unflatten(0, (2, 5)))
        True
    """

    def __init__(self, layer: SetModule, norm: nn.Module, act: nn.Module | None = None) -> None:
        super().__init__()
        if not isinstance(layer, nn.Module) or not takes_sets(layer):
            raise TypeError(f"layer must be a set layer, got {type(layer).__name__}")
        for name, part in (("norm", norm), ("act", norm if act is None else act)):
            check_kind(name, part, nn.Module, "module")
        self.layer = layer
        self.norm = norm
        self.act = nn.Identity() if act is None else act
        self.min_axes = getattr(layer, "min_axes", 2)

    def check_input(self, x: Sets) -> None:
        self.layer.check_input(x)

    @explained
    def forward(self, x: Sets, *args: Any) -> Any:
        if isinstance(x, Tensor) and kernel("norm_act", x) and type(self.layer) is DSS:
            return self._of_sum(x, *args)
        y = self.layer(x, *args)
        return ops.norm_act(y, None, self.norm, self.act) if isinstance(y, Tensor) else self._map(y)

    def _map(self, y: Any) -> Any:
        """Normalise rows, those of sets, or those of clouds in sets."""
        return y.map(self._map) if isinstance(y, RaggedSets) else self.act(self.norm(y))

    def _of_sum(self, x: Tensor, *args: Any) -> Tensor:
        layer: Any = self.layer
        context = layer.summary(x, *args)
        y = map_elements(x, layer.element, *args)
        if context.shape[1:] != y.shape[2:]:
            # The same for all entries, or for all channels, which is refused.
            y, context = add_to_elements(y, context.unsqueeze(1)), None
        return ops.norm_act(y, context, self.norm, self.act)

    def extra_repr(self) -> str:
        formula = getattr(self.layer, "formula", "layer(X)_i")
        inner = f"norm({formula})"
        return inner if isinstance(self.act, nn.Identity) else f"act({inner})"
