"""Does a network keep the symmetries it claims? What ``symsets check`` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from symsets._checks import shown
from symsets.pages import Cell, Picture, Table
from symsets.pages.drawing import INK, canvas, style
from symsets.testing.check import recorded
from symsets.testing.distances import relative_error, rounding_error
from symsets.testing.named import draw
from symsets.tools.targets import Target

TRIALS = 3  # elements of the group, of which the largest error counts
MOST_LAYERS = 60  # in the picture
SMALLEST, LARGEST = 1e-17, 1e1  # errors that the picture can show


@dataclass(frozen=True)
class Errors:
    """Of one output, relative to it."""

    invariant: float  # of f(gx) = f(x)
    equivariant: float | None  # of f(gx) = g f(x); None where g does not act
    tolerance: float  # the largest error that counts as kept

    @property
    def kept(self) -> str | None:
        """How the symmetry is kept: ``"invariant"``, ``"equivariant"``, or None if it is not."""
        if self.invariant <= self.tolerance:
            return "invariant"
        kept = self.equivariant is not None and self.equivariant <= self.tolerance
        return "equivariant" if kept else None


@dataclass(frozen=True)
class Checked:
    """What was found for one symmetry; errors are None where g does not act."""

    symmetry: str
    outputs: tuple[Errors, ...]  # each may keep it in its own way
    layers: tuple[tuple[str, float | None], ...]  # in the order they ran, empty if not known
    breaks: str | None  # where a tensor first neither stays nor moves along
    tolerance: float

    @property
    def kept(self) -> bool:
        """Whether every output keeps the symmetry."""
        return all(one.kept for one in self.outputs)


def check(target: Target, symmetry: str) -> Checked:
    """Measure by how much a network misses a symmetry that :func:`draw` can read."""
    if target.x.is_floating_point() and not target.x.isfinite().all():
        raise ValueError("the input of the network must be finite, found NaN or infinity in it")
    plain = _run(target, target.x)
    still, along = ([list[float]() for _ in plain] for _ in range(2))
    rounding = rounding_error(target.x, 0.0)
    for seed in range(TRIALS):
        drawn = draw(symmetry, target.x, seed)
        moved = _run(target, drawn.act(target.x))
        if len(moved) != len(plain):
            raise ValueError("the network must run the same layers for a moved input")
        for k, ((*_, before), (*_, after)) in enumerate(zip(plain, moved, strict=True)):
            still[k].append(relative_error(after, before, rounding))
            errors = [relative_error(after, act(before), rounding) for act in drawn.moves(before)]
            along[k] += [min(errors)] if errors else []  # none if g does not act on the output
    invariant = [max(errors) for errors in still]
    equivariant = [max(errors, default=None) for errors in along]
    outputs = [k for k, (_, name, _) in enumerate(plain) if not name]
    layers, broken = [], None
    for k, (where, name, _) in enumerate(plain):
        known = [e for e in (equivariant[k], invariant[k]) if e is not None]
        acts = k in outputs or len(known) > 1 or known[0] <= target.tolerance
        name = name or "the whole network"
        if acts and broken is None and not min(known) <= target.tolerance:
            broken = f"{where} {name}"
        if where == "in":
            layers.append((name, min(known) if acts else None))
    return Checked(
        symmetry,
        tuple(Errors(invariant[k], equivariant[k], target.tolerance) for k in outputs),
        tuple(layers) if isinstance(target.network, nn.Module) else (),
        broken,
        target.tolerance,
    )


def _run(target: Target, x: Tensor) -> list[tuple[str, str, Tensor]]:
    """Return what layers got and returned, with names, and what the network returned with none."""
    inputs = (x, *target.more)
    with torch.no_grad(), torch.random.fork_rng([]):
        torch.manual_seed(0)
        if isinstance(target.network, nn.Module):
            try:
                layers = recorded(target.network, *inputs)
            except (RuntimeError, TypeError, ValueError) as error:
                raise ValueError(
                    f"the network must take an input of shape {tuple(x.shape)} in float64: {error}"
                ) from error
            return [
                (where, f"{name} ({kind})" if name else "", tensor)
                for where, name, kind, tensor in layers
            ]
        found = target.network(*inputs)
        parts = found if isinstance(found, tuple | list) else [found]
        if wrong := [part for part in parts if not isinstance(part, Tensor)]:
            raise ValueError(f"network must return tensors, got {shown(wrong[0])}")
        return [("in", "", part) for part in parts]


def table_of(found: Sequence[Checked]) -> Table:
    """Return the errors as a table."""
    rows = [
        (
            Cell(one.symmetry + (f", output {k + 1}" if len(one.outputs) > 1 else "")),
            Cell(_error(output.invariant), best=output.kept == "invariant"),
            Cell(_error(output.equivariant), best=output.kept == "equivariant"),
            Cell(output.kept or "broken"),
        )
        for one in found
        for k, output in enumerate(one.outputs)
    ]
    caption = (
        "Errors relative to the output, the largest of several elements of the group; bold: kept "
        f"(at most {found[0].tolerance:g}). –: the group does not act on the output."
    )
    columns = ("symmetry", "f(gx) = f(x)", "f(gx) = g f(x)", "")
    return Table("", caption, columns, tuple(rows))


def _error(value: float | None) -> str:
    return "–" if value is None else "0" if value == 0 else f"{value:.1e}"


def picture_of(found: Sequence[Checked], name: str) -> Picture:
    """Draw the error of every layer, in the order they ran, for each symmetry."""
    names = [label for label, _ in found[0].layers[:MOST_LAYERS]]
    with style():
        figure, axis = canvas(6.4, 1.3 + 0.19 * len(names))
        for one in found:
            known = [(k, e) for k, (_, e) in enumerate(one.layers[:MOST_LAYERS]) if e is not None]
            errors = [min(max(e, SMALLEST), LARGEST) for _, e in known]
            axis.plot(errors, [k for k, _ in known], "o-", linewidth=0.8, label=one.symmetry)
        axis.axvline(found[0].tolerance, color=INK, linestyle="--", linewidth=0.8)
        axis.set_xscale("log")
        axis.set_xlim(SMALLEST / 3, 3 * LARGEST)
        axis.set_yticks(range(len(names)), names)
        axis.invert_yaxis()
        axis.set_xlabel("error; dashed: the largest that counts as kept")
        axis.legend()
    caption = "The error of every layer for each symmetry, from the first (top) to the last."
    return Picture(name, caption, caption, figure)
