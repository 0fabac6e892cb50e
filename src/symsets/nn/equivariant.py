"""The linear layer that is equivariant to any permutation group."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from symsets.groups import PermutationGroup
from symsets.groups.pairs import blocks, label_numbers
from symsets.groups.permutation import checked_group
from symsets.nn._explain import explained
from symsets.nn._orbit_sums import Read, in_sums, plan, source_shapes
from symsets.nn.base import ElementMap

Labels = npt.NDArray[np.int64]


class EquivariantLinear(ElementMap):
    r"""Apply the most general linear map that commutes with a permutation group.

    .. math:: y_{ot} = \sum_{c,s} W_{\ell(t, s)\,oc}\, x_{cs} + b_{\omega(t)\,o}

    where :math:`\ell(t, s)` is the orbit of a pair of points (:func:`symsets.groups.basis`) and
    :math:`\omega(t)` the orbit of a point of the output. Every linear map with this symmetry has
    this form. The large matrix is never built: for symmetric groups the layer sums over axes and
    diagonals, mixes channels and broadcasts; maps of other factors are applied factor by factor.

    The parts of a :class:`symsets.groups.DirectSum` lie one after the other on a single axis.

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
        >>> a, b = groups.Symmetric(4).named("a"), groups.Symmetric(4).named("b")
        >>> EquivariantLinear(a * b + b, 1, 8)  # weights and biases of a layer of a network
        EquivariantLinear(S4[a] + S4[b]: 1 × (20) → 8 × (20), 10 basis maps, bias=True)

    Reference:
        Maron et al., On Learning Sets of Symmetric Elements, ICML 2020, theorem 6.
    """

    labels: Tensor
    factors: Tensor
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
        self._rows = blocks(checked_group("group", group), target)
        self.group, self.target = group, group if target is None else target
        self.axes = group.shape
        everything = [block for row in self._rows for block in row]
        numbers = label_numbers(everything)
        rest = iter(numbers)
        self._parts = [plan(row, [next(rest) for _ in row], out_channels) for row in self._rows]
        self._sources = source_shapes(self._rows[0])
        self._in_sums = in_sums(everything, numbers)
        order = np.argsort(np.concatenate([of.ravel() for of in numbers]))
        entries = np.concatenate([block.entries().ravel() for block in everything])[order]
        rows = np.concatenate([block.first()[0].ravel() for block in everything])[order]
        orbits = self.target.orbits[rows]  # of the outputs that a label writes to
        # No buffer: it may not fit into the type of the weights.
        self.fan_in = torch.as_tensor(entries * np.bincount(orbits)[orbits], device="cpu")
        self.weight = nn.Parameter(torch.empty(len(order), out_channels, in_channels))
        self.bias: nn.Parameter | None = None
        if bias:
            self.bias = nn.Parameter(torch.empty(self.target.num_orbits, out_channels))
        self._register_constants()
        self.reset_parameters()

    def _register_constants(self) -> None:
        """Register what follows from the group as buffers on the device of the weights."""

        def constant(name: str, value: Labels) -> Tensor:
            tensor = torch.as_tensor(value, device=self.weight.device)
            self.register_buffer(name, tensor, persistent=False)
            return tensor

        constant("labels", self._in_sums[0])
        constant("factors", self._in_sums[1])
        constant("orbits", np.array(self.target.orbits))
        for q, part in enumerate(self._parts):
            for w, write in enumerate(part.writes):
                constant(f"index_{q}_{w}", write.index)
            for p, i in {
                (r.part, i) for w in part.writes for r in w.reads for i in r.maps.values()
            }:
                pair, name = self._rows[q][p].pairs[i], f"maps_{q}_{p}_{i}"
                labels = constant(name, pair.labels)
                maps = nn.functional.one_hot(labels, pair.count).permute(2, 0, 1)  # (E, T, S)
                self.register_buffer(name, maps.to(self.weight.dtype), persistent=False)

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        was_meta = self.weight.is_meta
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if was_meta:  # to_empty allocates buffers without values
            self._register_constants()
        return self

    def _load_from_state_dict(self, *args: Any) -> None:
        was_meta = self.weight.is_meta
        super()._load_from_state_dict(*args)
        if was_meta:  # assign=True replaces the weights, but not the buffers
            self._register_constants()

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
        weight: Tensor = self.weight
        if self.labels.shape[1] > 1:
            factors = self.factors[..., None, None].to(weight.dtype)
            weight = (weight[self.labels] * factors).sum(dim=1)  # (E, out, in)
        pieces = self._split(x)
        read: dict[tuple[int, str], Tensor] = {}
        parts = [self._part(q, weight, pieces, read) for q in range(len(self._parts))]
        y = parts[0] if len(parts) == 1 else torch.cat([part.flatten(2) for part in parts], dim=2)
        y = y.reshape(x.shape[0], self.out_channels, *self.target.shape)
        if self.bias is None:
            return y
        bias = self.bias[self.orbits].T.reshape(self.out_channels, *self.target.shape)
        return y + bias.to(y.dtype)

    def _split(self, x: Tensor) -> list[Tensor]:
        """Return the parts of the input, with one axis for each index or factor."""
        flat = x.reshape(*x.shape[:2], self.group.degree)
        pieces = flat.split([math.prod(shape) for shape in self._sources], dim=2)
        return [
            piece.reshape(*x.shape[:2], *shape)
            for piece, shape in zip(pieces, self._sources, strict=True)
        ]

    def _part(
        self, q: int, weight: Tensor, pieces: list[Tensor], read: dict[tuple[int, str], Tensor]
    ) -> Tensor:
        """Return one part of the output: sums, mixed and broadcast."""
        part, total = self._parts[q], None
        for w, write in enumerate(part.writes):
            rows = []
            for r in write.reads:
                if (key := (r.part, r.equation)) not in read:
                    read[key] = torch.einsum(r.equation, pieces[r.part])
                row = self._expand(q, r, read[key])
                rows.append(row.reshape(*row.shape[:3], *write.core))
            y = self._mix(rows, weight, self.get_buffer(f"index_{q}_{w}"))  # (B, out, *core, T)
            y = y.reshape(*y.shape[:2], *write.view, *part.last)
            for i, j in write.diagonals:
                shape = [1] * len(part.shape)
                shape[i] = shape[j] = part.shape[i]
                y = y * torch.eye(part.shape[i], dtype=y.dtype, device=y.device).view(shape)
            total = y if total is None else total + y
        assert total is not None
        order = [2 + axis for axis in part.order]
        return total.expand(*total.shape[:2], *part.shape).permute(0, 1, *order)

    def _expand(self, q: int, read: Read, x: Tensor) -> Tensor:
        """Apply every map of the factors that are not summed; what comes of each is a row."""
        x = x.reshape(x.shape[0], 1, x.shape[1], *read.shape)  # (B, 1, C, …)
        for axis, i in read.maps.items():
            maps: Tensor = self.get_buffer(f"maps_{q}_{read.part}_{i}").to(x.dtype)  # (E, T, S)
            x = nn.functional.linear(x.movedim(3 + axis, -1), maps.flatten(0, 1))  # (…, E·T)
            x = x.unflatten(-1, maps.shape[:2]).movedim((-2, -1), (2, 4 + axis))
            x = x.flatten(1, 2)  # (B, R, C, …, T, …)
        return x.movedim(-1, 2).flatten(1, 2)  # (B, R·S, C, …)

    def _mix(self, rows: list[Tensor], weight: Tensor, index: Tensor) -> Tensor:
        """Mix the channels of all rows, and the points of the factor treated as channels."""
        x = (rows[0] if len(rows) == 1 else torch.cat(rows, dim=1)).flatten(1, 2)  # (B, R·C, …)
        matrix = weight.index_select(0, index.flatten()).unflatten(0, index.shape)  # (T, R, O, C)
        matrix = matrix.transpose(1, 2).flatten(2).flatten(0, 1)  # (T·O, R·C)
        y = torch.einsum("br...,or->bo...", x, matrix)
        return y.unflatten(1, (len(index), -1)).movedim(1, -1)

    def extra_repr(self) -> str:

        def space(channels: int, action: PermutationGroup) -> str:
            return f"{channels} × ({'×'.join(map(str, action.shape)) or '1'})"

        signature = f"{space(self.in_channels, self.group)} → "
        signature += space(self.out_channels, self.target)
        maps = f"{len(self.weight)} basis map{'s' * (len(self.weight) > 1)}"
        return f"{self.group.group}: {signature}, {maps}, bias={self.bias is not None}"
