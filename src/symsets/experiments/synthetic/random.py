"""Random numbers that depend on nothing but their names, the same on every device."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from symsets.data.splits import fraction

# The finaliser and the increment of the splitmix64 generator, as signed integers.
_MULTIPLIERS = (0xBF58476D1CE4E5B9 - 2**64, 0x94D049BB133111EB - 2**64)
_INCREMENT = 0x9E3779B97F4A7C15 - 2**64
_BITS = 24  # of a number in [0, 1): all of them are exact in float32


def _shifted(x: Tensor, bits: int) -> Tensor:
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def _mix(x: Tensor) -> Tensor:
    """Scramble 64-bit integers; products wrap around."""
    x = (x ^ _shifted(x, 30)) * _MULTIPLIERS[0]
    x = (x ^ _shifted(x, 27)) * _MULTIPLIERS[1]
    return x ^ _shifted(x, 31)


def make_keys(
    which: Tensor | Sequence[int], *names: int, device: torch.device | str = "cpu"
) -> Tensor:
    """Return a key for each number of ``which``; other names (a seed, a split) give other keys.

    Example:
        >>> keys = make_keys([0, 1, 5], 7)
        >>> torch.equal(keys[2:], make_keys([5], 7)), torch.equal(keys, make_keys([0, 1, 5], 8))
        (True, False)
    """
    keys = torch.as_tensor(which, dtype=torch.int64, device=device)
    for name in names:
        step = (name * _INCREMENT + 2**63) % 2**64 - 2**63  # wrapped around into 64 bits
        keys = _mix(keys + step)
    return _mix(keys)


def name_keys(names: Sequence[str], *, device: torch.device | str = "cpu") -> Tensor:
    """Return a key for each name."""
    return make_keys([int(fraction(name) * 2**56) for name in names], device=device)


def uniform(keys: Tensor, num: int, *, stream: int = 0) -> Tensor:
    """Return ``num`` numbers in [0, 1) for each key, ``(*keys, num)``, in float32.

    Example:
        >>> keys = make_keys(range(1000))
        >>> u = uniform(keys, 100)
        >>> bool((u.mean() - 0.5).abs() < 0.01), torch.equal(u[:, :3], uniform(keys, 3))
        (True, True)
    """
    count = torch.arange(1, num + 1, device=keys.device) + (stream << 32)
    bits = _shifted(_mix(keys[..., None] + count * _INCREMENT), 64 - _BITS)
    return bits.to(torch.float32) * 2.0**-_BITS


class Draws:
    """Draw numbers for keys ``(B,)``, each of which has a sequence of its own."""

    def __init__(self, keys: Tensor, dtype: torch.dtype = torch.float32) -> None:
        self.keys, self.dtype = keys, dtype
        self._stream = 0

    def uniform(self, low: float = 0.0, high: float = 1.0, *shape: int) -> Tensor:
        """Return numbers between ``low`` and ``high``, ``(B, *shape)``."""
        self._stream += 1
        u = uniform(self.keys, math.prod(shape), stream=self._stream).to(self.dtype)
        return low + (high - low) * u.reshape(-1, *shape)

    def chance(self, probability: float) -> Tensor:
        """Return what is true with a probability, ``(B,)``."""
        return self.uniform() < probability

    def choice(self, num: int) -> Tensor:
        """Return one of 0, …, ``num`` − 1, ``(B,)``."""
        return (self.uniform() * num).long().clamp_max(num - 1)
