"""Sets of noisy measurements of one periodic signal, and the question which kind it is."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from symsets._checks import positive
from symsets.data.labelled import LabelledSets
from symsets.experiments.synthetic.generated import split_generator

CLASSES = ("sine", "square", "sawtooth")


@dataclass(frozen=True)
class Signals:
    r"""Generate sets of noisy copies of one periodic signal.

    .. math:: x_i(t) = o + a \bigl(w(2 \pi f (t + s)) + \text{noise} \cdot \varepsilon_i(t)\bigr)

    with :math:`w` a sine, square or sawtooth wave, chosen uniformly, :math:`f, a \sim U[1, 10]`,
    :math:`o \sim U[-5, 5]`, :math:`s \sim U[0, 1]`, :math:`\varepsilon_i(t) \sim N(0, 1)` for each
    copy and time, and :math:`t` in :math:`[0, 1]`. The frequency is no integer, so a circular
    shift is only nearly a symmetry of the data.

    Sets are generated on the device they are used on. Each split has a stream of random numbers of
    its own, fixed by ``seed``; the first sets of a split are the same however many are asked for.

    Args:
        num_elements: Copies in a set.
        length: Times at which a signal is sampled.
        noise: Standard deviation of the noise in units of the amplitude.
        seed: Fixes the data.

    Example:
        >>> sets = Signals(num_elements=4, length=50).make("test", 10)
        >>> sets.x.shape, sets.y.shape
        (torch.Size([10, 4, 1, 50]), torch.Size([10]))
    """

    num_elements: int = 25
    length: int = 100
    noise: float = 3.0
    seed: int = 0

    name = "generated signals"  # in tables
    BLOCK = 1000  # sets are drawn in blocks, so that more of them leave the first ones as they were

    def make(self, split: str, num: int, device: torch.device | str = "cpu") -> LabelledSets:
        """Return the first ``num`` sets of a split."""
        positive("num", num)
        generator = split_generator(self.seed, split, device)
        blocks = [self._block(generator) for _ in range(-(-num // self.BLOCK))]
        x, y = (torch.cat(parts) for parts in zip(*blocks, strict=True))
        return LabelledSets(x, y).first(num)

    def _block(self, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        device, num = generator.device, self.BLOCK

        def uniform(low: float, high: float) -> Tensor:
            u = torch.rand(num, 1, generator=generator, device=device)
            return low + (high - low) * u

        y = torch.randint(len(CLASSES), (num,), generator=generator, device=device)
        frequency, amplitude = uniform(1, 10), uniform(1, 10)
        offset, shift = uniform(-5, 5), uniform(0, 1)
        t = torch.linspace(0, 1, self.length, device=device)
        clean = _waves(y, frequency * (t + shift))[:, None]  # (num, 1, L)
        shape = (num, self.num_elements, self.length)
        noise = self.noise * torch.randn(shape, generator=generator, device=device)
        x = offset[:, None] + amplitude[:, None] * (clean + noise)
        return x[:, :, None], y


def _waves(kind: Tensor, turns: Tensor) -> Tensor:
    """Return the wave of each kind after so many turns of its period."""
    phase = turns % 1
    waves = torch.stack(
        [torch.sin(2 * math.pi * phase), 1.0 - 2.0 * (phase >= 0.5), 2 * phase - 1]
    )  # (3, num, L)
    return waves[kind, torch.arange(len(kind), device=kind.device)]
