"""Many small sine networks at once, each fitted to a picture of its own."""

import math

import torch
from torch import Tensor

from symsets.experiments.weights.space import WeightSpace

OMEGA = 6.0  # with the usual 30, weights hardly leave their random start
RATE, DECAY = 1e-2, 1.0  # of AdamW
AT_ONCE = {"cpu": 512, "cuda": 4096}  # networks


def draw(space: WeightSpace, x: Tensor, points: Tensor) -> Tensor:
    r"""Return what sine networks compute at some points.

    .. math:: h_b = \sin\Bigl(\omega \bigl(\sum_a W_{ab} h_a + c_b\bigr)\Bigr)

    in every hidden layer; the last layer has no sine.

    Shape:
        - x: ``(M, D)``, networks of the space.
        - points: ``(P, inputs)``
        - output: ``(M, P, outputs)``

    Reference:
        Sitzmann, Martel, Bergman, Lindell, Wetzstein: Implicit Neural Representations with
        Periodic Activation Functions. NeurIPS 2020.
    """
    weights, biases = space.split(x)
    h = points
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        h = (OMEGA * (h @ weight + bias.unsqueeze(-2))).sin()  # (M, P, n)
    return h @ weights[-1] + biases[-1].unsqueeze(-2)


def start_scale(space: WeightSpace) -> Tensor:
    """Return the standard deviation of each entry at the random start of a sine network, ``(D,)``.

    Entries are uniform, within 1 / n in the first layer and √(6 / n) / ω in all others.
    """
    first, *others = (n for n, _ in space.shapes)
    bounds = [1 / first, *(math.sqrt(6 / n) / OMEGA for n in others)]
    parts = zip(space.sizes, 2 * bounds, strict=True)  # matrices, then biases
    return torch.cat([torch.full((size,), bound / math.sqrt(3)) for size, bound in parts])


def random_start(space: WeightSpace, num: int, seed: int) -> Tensor:
    """Draw ``num`` sine networks, ``(num, D)``."""
    uniform = torch.rand(num, space.size, generator=torch.Generator().manual_seed(seed))
    return (2 * uniform - 1) * math.sqrt(3) * start_scale(space)


def pixel_places(height: int, width: int) -> Tensor:
    """Return the middles of all pixels of a picture that covers [-1, 1]², ``(H·W, 2)``."""
    down, right = ((2 * torch.arange(n) + 1) / n - 1 for n in (height, width))
    return torch.cartesian_prod(down, right)


def fit_networks(space: WeightSpace, start: Tensor, pictures: Tensor, steps: int) -> Tensor:
    """Fit a network to each picture, all in one computation that mixes no two of them.

    AdamW for ``steps`` steps, at a rate that rises and falls. The result depends on nothing but
    the arguments (on another device, up to rounding).

    Shape:
        - start: ``(M, D)``
        - pictures: ``(M, H, W)``, with values from -1 to 1.
        - output: ``(M, D)``

    Example:
        >>> space = WeightSpace((2, 8, 8, 1))
        >>> picture = torch.eye(4)[None] * 2 - 1
        >>> fitted = fit_networks(space, random_start(space, 1, seed=0), picture, steps=200)
        >>> drawn = draw(space, fitted, pixel_places(4, 4)).reshape(4, 4)
        >>> bool((drawn - picture[0]).abs().max() < 0.3)
        True
    """
    at_once = AT_ONCE.get(start.device.type, 512)
    parts = zip(start.split(at_once), pictures.split(at_once), strict=True)
    return torch.cat([_fit(space, some, target, steps) for some, target in parts])


def _fit(space: WeightSpace, start: Tensor, pictures: Tensor, steps: int) -> Tensor:
    points = pixel_places(*pictures.shape[1:]).to(start)
    target = pictures.flatten(1).unsqueeze(-1)  # (M, P, 1)
    x = start.clone().requires_grad_()
    optimizer = torch.optim.AdamW([x], lr=RATE, weight_decay=DECAY, fused=True)
    rates = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps, pct_start=0.1)
    with torch.enable_grad():
        for _ in range(steps):
            optimizer.zero_grad()
            (draw(space, x, points) - target).square().mean(dim=(1, 2)).sum().backward()
            optimizer.step()
            rates.step()
    return x.detach()
