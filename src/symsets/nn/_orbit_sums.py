"""How equivariant maps are computed: what is summed, how channels are mixed, where it is written.

The map of a label is one where indices have exactly its pattern (:mod:`symsets.groups.patterns`).
Here it is written in *sums*, which are one where certain indices are equal and do not ask about the
others: these are sums over axes and diagonals of the input, small products of channels, and
broadcasts to the output. Factors that are no symmetric groups have no such form: their maps are
applied as small matrices, or their points are treated as channels.
"""

import math
import string
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from symsets.groups._arrays import IntArray
from symsets.groups.pairs import Block, Pair
from symsets.groups.patterns import Pattern, moebius

MAX_PATTERNS = 1000  # of a symmetric group with more (five pairs of indices), orbits are searched
_LETTERS = [letter for letter in string.ascii_letters if letter not in "bc"]


@dataclass(frozen=True)
class Read:
    """Sums and diagonals of one part of the input.

    Args:
        part: Which part of the input.
        equation: What einsum does to it.
        shape: Its axes, then: those that are kept, those of factors applied as matrices, and that
            of the factor whose points are treated as channels.
        maps: For each axis that matrices are applied to: the pair in the block they belong to.
    """

    part: int
    equation: str
    shape: tuple[int, ...]
    maps: dict[int, int]


@dataclass
class Write:
    """A product of channels whose outcome is broadcast to a part of the output.

    Args:
        core: The axes of the outcome.
        view: The same with axes of length one, along which it is broadcast.
        diagonals: Pairs of axes off whose diagonal the output is zero.
    """

    core: tuple[int, ...]
    view: tuple[int, ...]
    diagonals: tuple[tuple[int, int], ...]
    reads: list[Read] = field(default_factory=list)
    indices: list[IntArray] = field(default_factory=list)

    @property
    def index(self) -> IntArray:
        """The label of the weight for each point treated as a channel and each row of reads."""
        return np.concatenate(self.indices, axis=1)


@dataclass(frozen=True)
class Part:
    """All that is written to one part of the output.

    Args:
        shape: Its axes, in the order in which they are computed.
        order: Their order in the output.
        last: The axis of the factor whose points are treated as channels, if the part has one.
    """

    shape: tuple[int, ...]
    order: tuple[int, ...]
    last: tuple[int, ...]
    writes: list[Write]


def is_summed(pair: Pair) -> bool:
    """Whether the maps of a pair are computed by sums over equal indices."""
    return pair.lengths is not None and pair.count <= MAX_PATTERNS


def source_shapes(row: Sequence[Block]) -> list[tuple[int, ...]]:
    """Return the axes of each part of the input, one for a factor that is not summed."""
    return [
        tuple(n for i in block.columns for n in _axes(block.pairs[i], source=True)) for block in row
    ]


def plan(row: Sequence[Block], numbers: Sequence[IntArray], out_channels: int) -> Part:
    """Plan one part of the output: ``row`` has a block for each part of the input."""
    dense, writes = _as_channels(row, out_channels), dict[Hashable, Write]()
    for part, (block, labels) in enumerate(zip(row, numbers, strict=True)):
        summed = [i for i in block.rows if is_summed(block.pairs[i])]
        others = [i for i in block.rows if i not in summed and block.keys[i] != dense]
        last = [i for i in block.rows if i not in summed and block.keys[i] == dense]
        labels = labels.transpose(*summed, *others, *last)
        for chosen in product(*(range(block.pairs[i].count) for i in summed)):
            equal = {i: block.pairs[i].patterns[e] for i, e in zip(summed, chosen, strict=True)}
            key = tuple(_written(block.pairs[i], pattern) for i, pattern in equal.items())
            key = tuple(pattern for pattern in key if pattern[0])
            if key not in writes:
                writes[key] = _write(block, equal, others)
            writes[key].reads.append(_read(part, block, equal, others, last))
            index = labels[chosen]  # (E of each other, E of the last)
            scheme = block.pairs[last[0]].labels if last else np.zeros((1, 1), dtype=np.int64)
            index = np.moveaxis((index if last else index[..., None])[..., scheme], -2, 0)
            writes[key].indices.append(index.reshape(len(scheme), -1))
    axes = [i for i in block.rows if is_summed(block.pairs[i])] + others + last
    shapes = {i: _axes(block.pairs[i], source=False) for i in axes}
    places = {i: sum(len(shapes[j]) for j in axes[: axes.index(i)]) for i in axes}
    order = [places[i] + k for i in block.rows for k in range(len(shapes[i]))]
    shape = tuple(n for i in axes for n in shapes[i])
    of_last = tuple(n for i in last for n in shapes[i])
    small_first = sorted(writes.values(), key=lambda write: math.prod(write.core))
    return Part(shape, tuple(order), of_last, small_first)


def in_sums(blocks: Sequence[Block], numbers: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Return labels and factors ``(E, J)``: the weight of a sum is a combination of weights."""
    below = {pair: _below(pair.patterns) for b in blocks for pair in b.pairs if is_summed(pair)}
    most = max(math.prod(len(below[p][0]) for p in b.pairs if p in below) for b in blocks)
    size = sum(of_block.size for of_block in numbers)
    labels, factors = np.zeros((size, most), np.int64), np.zeros((size, most), np.int64)
    for block, of_block in zip(blocks, numbers, strict=True):
        summed = [i for i, pair in enumerate(block.pairs) if is_summed(pair)]
        table = np.moveaxis(of_block, summed, range(len(summed)))
        for coarse in product(*(range(block.pairs[i].count) for i in summed)):
            finer = [below[block.pairs[i]][e] for i, e in zip(summed, coarse, strict=True)]
            for j, fine in enumerate(product(*finer)):
                labels[table[coarse], j] = table[tuple(e for e, _ in fine)]
                factors[table[coarse], j] = math.prod(mu for _, mu in fine)
    return labels, factors


def _below(patterns: Sequence[Pattern]) -> list[list[tuple[int, int]]]:
    """Return, for every pattern, the patterns that contribute to its sum, with their factors."""
    found = [[(f, moebius(fine, p)) for f, fine in enumerate(patterns)] for p in patterns]
    return [[(f, mu) for f, mu in row if mu] for row in found]


def _axes(pair: Pair, *, source: bool) -> tuple[int, ...]:
    action = pair.source if source else pair.target
    return action.shape if is_summed(pair) or not action.shape else (action.degree,)


def _as_channels(row: Sequence[Block], out_channels: int) -> Hashable:
    """Choose the factor whose points become channels: of the others, all maps become channels."""
    growth, few = dict[Hashable, float](), dict[Hashable, bool]()
    for block in row:
        for key, pair in zip(block.keys, block.pairs, strict=True):
            if not is_summed(pair):
                count, size = pair.count, pair.source.degree
                growth[key] = max(growth.get(key, 0), count * pair.target.degree / size)
                # Multiplications per output point: all maps, then channels; or both at once.
                fewer = count * (size + out_channels) <= size * out_channels
                few[key] = few.get(key, True) and fewer
    key = max(growth, key=lambda key: growth[key], default=None)
    return None if key is None or few[key] else key


def _written(pair: Pair, pattern: Pattern) -> tuple[Pattern, tuple[int, ...]]:
    """Return the pattern of the output's indices, and which of its numbers the input has, too."""
    split = (pair.lengths or (0, 0))[0]
    return pattern[:split], tuple(sorted(set(pattern[:split]) & set(pattern[split:])))


def _write(block: Block, equal: dict[int, Pattern], others: list[int]) -> Write:
    core, view, diagonals = list[int](), list[int](), list[tuple[int, int]]()
    for i, pattern in equal.items():
        degree, (own, kept) = block.pairs[i].source.group.degree, _written(block.pairs[i], pattern)
        core += [degree] * len(kept)
        for place, number in enumerate(own):
            first = own.index(number)
            if first < place:
                diagonals.append((len(view) - place + first, len(view)))
            view.append(degree if number in kept and first == place else 1)
    rest = [n for i in others for n in _axes(block.pairs[i], source=False)]
    return Write((*core, *rest), (*view, *rest), tuple(diagonals))


def _read(
    part: int, block: Block, equal: dict[int, Pattern], others: list[int], last: list[int]
) -> Read:
    names: dict[tuple[int, int], str] = {}  # of a factor and a number in its pattern
    given = ""
    for i in block.columns:
        pair = block.pairs[i]
        numbers = equal[i][-len(pair.source.shape) :] if i in equal else (0,)
        for number in numbers if pair.source.shape else ():
            given += names.setdefault((i, number), _LETTERS[len(names)])
    kept = [(i, n) for i, p in equal.items() for n in _written(block.pairs[i], p)[1]]
    rest = [*others, *last]
    taken = "".join(names[key] for key in [*kept, *((i, 0) for i in rest)] if key in names)
    shape = [block.pairs[i].source.group.degree for i, _ in kept]
    maps = {len(shape) + k: i for k, i in enumerate(others)}
    shape += [block.pairs[i].source.degree for i in rest] + ([] if last else [1])
    return Read(part, f"bc{given}->bc{taken}", tuple(shape), maps)
