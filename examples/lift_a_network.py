"""Lift a network: a CNN that was trained on single images learns to look at whole sets.

The task has no answer for a single image: which of six pictures of blobs is the odd one out, the
one whose blobs are not where those of the others are? The CNN gets to know blobs by counting them;
lifted, it starts from what it knows. Run ``python examples/lift_a_network.py``; about ten seconds.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from symsets import lift, select_loss

SIZE, NUM_ELEMENTS, BATCH, STEPS, LEARNING_RATE = 16, 6, 32, 150, 3e-3
EXPECTED = "0.99 or better"


def blobs(num: int) -> tuple[Tensor, Tensor]:
    """Pictures ``(num, 1, 16, 16)`` of one to four blobs, and how many there are."""
    count = torch.randint(1, 5, (num,))
    centres = SIZE * torch.rand(num, 4, 2)
    grid = torch.stack(torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij"), -1)
    distance = (grid[None, None] - centres[:, :, None, None]).square().sum(-1)
    shown = torch.exp(-distance / 3) * (torch.arange(4) < count[:, None])[:, :, None, None]
    return shown.sum(1, keepdim=True), count - 1


def sets(num: int) -> tuple[Tensor, Tensor]:
    """Sets of noisy copies of one picture, and which copy is of another picture instead."""
    common, odd = blobs(num)[0], blobs(num)[0]
    x = common[:, None].repeat_interleave(NUM_ELEMENTS, dim=1)
    which = torch.randint(NUM_ELEMENTS, (num,))
    x[torch.arange(num), which] = odd
    return x + 0.3 * torch.randn_like(x), which


def cnn() -> nn.Module:
    """A network for one picture, with four outputs."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=1, stride=2),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 4),
    )


def train(net: nn.Module, loss_of_batch: Callable[[nn.Module], Tensor], steps: int) -> None:
    """Minimise a loss that draws its own batches."""
    optimiser = torch.optim.Adam(net.parameters(), LEARNING_RATE)
    for step in range(steps):
        loss = loss_of_batch(net)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % 50 == 0:
            print(f"step {step:4}   loss {loss.item():.3f}")


def counting_loss(net: nn.Module) -> Tensor:
    x, count = blobs(BATCH)
    return nn.functional.cross_entropy(net(x), count)


def selection_loss(net: nn.Module) -> Tensor:
    x, which = sets(BATCH)
    return select_loss(net(x)[..., 0], which)  # the first output becomes the score of an element


def main(steps: int = STEPS) -> float:
    """Train on pictures, lift, train on sets, and return the accuracy."""
    torch.manual_seed(0)
    net = cnn()
    print("counting blobs in single pictures")
    train(net, counting_loss, steps)
    lifted = lift(net, scheme="dss-mean")
    x, which = sets(500)
    print("same answers before any training:", torch.allclose(lifted(x)[0], net(x[0]), atol=1e-5))
    print("finding the odd one out of six")
    train(lifted, selection_loss, steps)
    with torch.no_grad():
        accuracy = (lifted(x)[..., 0].argmax(1) == which).float().mean().item()
    print(f"test accuracy {accuracy:.3f} (expect {EXPECTED}; chance {1 / NUM_ELEMENTS:.3f})")
    return accuracy


if __name__ == "__main__":
    main()
