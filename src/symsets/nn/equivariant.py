"""The linear layer that is equivariant to any permutation group."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from symsets.groups import PermutationGroup
from symsets.groups.pairs import check_written, factor_pairs, label_numbers, leaf_labels
from symsets.groups.permutation import checked_group
from symsets.nn._explain import explained
from symsets.nn.base import ElementMap

Labels = npt.NDArray[np.int64]


class EquivariantLinear(ElementMap):
    r"""Apply the most general linear map that commutes with a permutation group.

    .. math:: y_{ot} = \sum_{c,s} W_{\ell(t, s)\,oc}\, x_{cs} + b_{\omega(t)\,o}

    where :math:`\ell(t, s)` is the orbit of a pair of points (:func:`symsets.groups.basis`) and
    :math:`\omega(t)` the orbit of a point of the output. Every linear map with this symmetry has
    this form. For a product of groups the basis maps are Kronecker products,
    :math:`X \mapsto L^1_{i} X (L^2_{j})^\top`, and are applied factor by factor; the large matrix
    is never built.

    At the start every output has about the variance of the inputs: an output sees, of each of its
    orbits, as many inputs as one row of the scheme has entries with that label, and all orbits
    that reach it have the same share. So the weights of an orbit have variance
    1 / (in_channels × entries in a row × orbits in that row), and the bias is zero.

    Args:
        group: The action on the input.
        in_channels: Channels of the input.
        out_channels: Channels of the output.
        target: The action of the same group on the output, such as ``group.on(0)``; the same as on
            the input if left out.
        bias: Whether to add a learned constant per orbit of output points and channel.

    Shape:
        - x: ``(B, in_channels, *group.shape)``
        - output: ``(B, out_channels, *target.shape)``
        - weight: ``(E, out_channels, in_channels)``, in the order of the labels of ``basis``.
        - bias: ``(number of orbits of the target, out_channels)``

    Symmetry:
        Equivariant to ``group``.

    Example:
        >>> from symsets import groups
        >>> G = groups.Symmetric(5) * groups.Cyclic(4)
        >>> layer = EquivariantLinear(G, 3, 8)
        >>> layer
        EquivariantLinear(S5 × C4: 3 × (5×4) → 8 × (5×4), 8 basis maps, bias=True)
        >>> x, g = torch.randn(2, 3, 5, 4), G.random_element()
        >>> torch.allclose(layer(G.act(x, g)), G.act(layer(x), g), atol=1e-5)
        True

    Reference:
        Maron et al., On Learning Sets of Symmetric Elements, ICML 2020, theorem 6.
    """

    label_numbers: Tensor
    dense_labels: Tensor
    orbits: Tensor

    def __init__(
        self,
        group: PermutationGroup,
        in_channels: int,
        out_channels: int,
        *,
        target: PermutationGroup | None = None,
        bias: bool = True,
    ) -> None:
        super().__init__(in_channels, out_channels)
        self._pairs = factor_pairs(checked_group("group", group), target)
        self.group, self.target = group, group if target is None else target
        self.axes = group.shape
        for source, goal in self._pairs:
            check_written(source.degree * goal.degree)
        schemes = self._schemes()
        self._counts = [int(scheme.max()) + 1 for scheme in schemes]
        self._plan(schemes)
        self.weight = nn.Parameter(torch.empty(math.prod(self._counts), out_channels, in_channels))
        self.bias: nn.Parameter | None = None
        if bias:
            self.bias = nn.Parameter(torch.empty(self.target.num_orbits, out_channels))
        self._register_schemes(schemes)
        self.reset_parameters()

    def _schemes(self) -> list[Labels]:
        return [leaf_labels(*pair) for pair in self._pairs]

    def _plan(self, schemes: list[Labels]) -> None:
        """Choose the factors whose basis maps become channels, and the one applied as a matrix."""

        def growth(f: int) -> float:
            return self._counts[f] * schemes[f].shape[0] / schemes[f].shape[1]

        *self._expanded, last = sorted(range(len(schemes)), key=growth)
        count, size = self._counts[last], schemes[last].shape[1]
        # Multiplications per output point: all basis maps, then channels; or both in one matrix.
        few = count * (size + self.out_channels) <= size * self.out_channels
        self._dense = None if few else last
        if few:
            self._expanded.append(last)

    def _register_schemes(self, schemes: list[Labels]) -> None:
        """Register the labels of the group as buffers on the device of the weights."""

        def constant(name: str, value: Labels | Tensor) -> None:
            value = torch.as_tensor(value, device=self.weight.device)
            self.register_buffer(name, value, persistent=False)

        for f in self._expanded:
            labels = torch.as_tensor(schemes[f], device=self.weight.device)
            maps = nn.functional.one_hot(labels, self._counts[f]).permute(2, 0, 1)  # (E, T, S)
            constant(f"maps_{f}", maps.to(self.weight.dtype))
        if self._dense is not None:
            constant("dense_labels", schemes[self._dense].T.copy())  # (S, T)
        numbers, fan_in = label_numbers(schemes), np.ones(1)
        for scheme, (_, target) in zip(schemes, self._pairs, strict=True):
            fan_in = np.outer(fan_in, _fan_in(scheme, target.orbits)).ravel()
        constant("label_numbers", numbers)
        constant("orbits", np.array(self.target.orbits))
        # No buffer: it may not fit into the type of the weights.
        self.fan_in = torch.as_tensor(fan_in[np.argsort(numbers)], device="cpu")

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        was_meta = self.weight.is_meta
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if was_meta:  # to_empty allocates buffers without values
            self._register_schemes(self._schemes())
        return self

    def _load_from_state_dict(self, *args: Any) -> None:
        was_meta = self.weight.is_meta
        super()._load_from_state_dict(*args)
        if was_meta:  # assign=True replaces the weights, but not the buffers
            self._register_schemes(self._schemes())

    def reset_parameters(self) -> None:
        """Draw new weights at unit scale; the bias becomes zero."""
        with torch.no_grad():
            scale = (self.in_channels * self.fan_in).rsqrt().to(self.weight)
            self.weight.normal_().mul_(scale[:, None, None])
            if self.bias is not None:
                self.bias.zero_()

    @explained
    def forward(self, x: Tensor) -> Tensor:
        """Map ``(B, in_channels, *group.shape)`` to ``(B, out_channels, *target.shape)``."""
        if x.shape[2:] != self.axes:  # torch would read the entries in another order
            raise IndexError(f"elements must have shape {self.axes}")
        x = x.reshape(*x.shape[:2], *(s.degree for s, _ in self._pairs))  # (B, C, S1, …)
        for f in self._expanded:
            x = self._expand(x, f)  # (B, C·E…, T1, …)
        y = self._mix(x).reshape(x.shape[0], self.out_channels, *self.target.shape)
        if self.bias is None:
            return y
        bias = self.bias[self.orbits].T.reshape(self.out_channels, *self.target.shape)
        return y + bias.to(y.dtype)

    def _expand(self, x: Tensor, f: int) -> Tensor:
        """Apply every basis map of one factor; what comes of each becomes a channel."""
        maps: Tensor = self.get_buffer(f"maps_{f}").to(x.dtype)  # (E, T, S)
        x = nn.functional.linear(x.movedim(2 + f, -1), maps.flatten(0, 1))  # (B, R, …, E·T)
        x = x.unflatten(-1, maps.shape[:2]).movedim((-2, -1), (2, 3 + f))  # (B, R, E, …, T, …)
        return x.flatten(1, 2)

    def _mix(self, x: Tensor) -> Tensor:
        """Mix the channels, and the points of the factor that is applied as a matrix."""
        order = [*self._expanded, *([] if self._dense is None else [self._dense])]
        weight = self.weight.index_select(0, self.label_numbers).unflatten(0, self._counts)
        channels = len(order)
        if self._dense is None:
            weight = weight.permute(channels, channels + 1, *order)  # (out, in, E…)
            return torch.einsum("br...,or->bo...", x, weight.flatten(1))
        weight = weight.permute(channels + 1, *order, channels).flatten(0, -3)  # (R, E, out)
        # Whole rows of output channels are copied, and lie where one product wants them.
        matrix = weight.index_select(1, self.dense_labels.flatten())  # (R, S·T, out)
        matrix = matrix.unflatten(1, self.dense_labels.shape).flatten(0, 1).flatten(1)
        x = x.movedim((1, 2 + self._dense), (-2, -1))  # (B, …, R, S)
        y = (x.flatten(-2) @ matrix).unflatten(-1, (-1, self.out_channels))  # (B, …, T, out)
        return y.movedim((-1, -2), (1, 2 + self._dense)).contiguous()

    def extra_repr(self) -> str:

        def space(channels: int, action: PermutationGroup) -> str:
            return f"{channels} × ({'×'.join(map(str, action.shape)) or '1'})"

        signature = f"{space(self.in_channels, self.group)} → "
        signature += space(self.out_channels, self.target)
        maps = f"{len(self.weight)} basis map{'s' * (len(self.weight) > 1)}"
        return f"{self.group.group}: {signature}, {maps}, bias={self.bias is not None}"


def _fan_in(scheme: Labels, orbits: Labels) -> npt.NDArray[np.float64]:
    """Count, per label, its entries in a row times the labels in that row."""
    sizes = np.bincount(scheme.ravel())
    rows = np.unique(scheme, return_index=True)[1] // scheme.shape[1]
    orbit = orbits[rows]  # the orbit of outputs that a label writes to
    return sizes / np.bincount(orbits)[orbit] * np.bincount(orbit)[orbit]
