"""Maxima over sets by kernels: the values and gradients of torch, shared between ties."""

import pytest
import torch
from symsets._kernels import kernels
from torch import nn

from symsets import DSS, RaggedSets, pool
from symsets.nn import Merge
from symsets.sets import _maximum

no_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


class Plain:
    """What the kernels compute, in torch."""

    def __init__(self):
        self.calls = 0

    def top(self, x):
        self.calls += 1
        return x.amax(1)

    def share(self, grad, x, y):
        self.calls += 1
        holds = x == y[:, None]
        return (grad / holds.sum(1))[:, None] * holds


@pytest.fixture
def stand_in(monkeypatch):
    """Let CPUs have kernels, for elements of any size."""
    plain = Plain()
    monkeypatch.setattr(_maximum, "SMALLEST", 1)
    monkeypatch.setattr(_maximum, "_kernels_for", lambda x: plain)
    return plain


def images(device="cpu", dtype=torch.float32):
    x = torch.randint(-2, 3, (3, 4, 8, 9, 10), device=device).to(dtype)  # many ties
    return x.permute(0, 1, 4, 2, 3)


def signals(device="cpu", dtype=torch.float32):
    return torch.randint(-2, 3, (7, 3, 4, 80), device=device).to(dtype).permute(1, 2, 3, 0)


def vectors(device="cpu", dtype=torch.float32):
    return torch.randint(-2, 3, (3, 4, 70), device=device).to(dtype)


KINDS = {"images": images, "signals": signals, "vectors": vectors}


def outcome(x):
    x = x.detach().requires_grad_()
    y = pool(x, "max")
    weight = torch.linspace(-1, 1, y.numel(), device=y.device).view(y.shape).to(y.dtype)
    return y, *torch.autograd.grad((y * weight).sum(), x)


@pytest.mark.parametrize("kind", KINDS)
def test_values_and_gradients_are_those_of_torch(kind, stand_in, monkeypatch):
    x = KINDS[kind]()
    ours = outcome(x)
    assert stand_in.calls == 2
    monkeypatch.setattr(_maximum, "_kernels_for", lambda x: None)
    torchs = outcome(x)
    assert ours[0].stride() == torchs[0].stride()
    for a, b in zip(ours, torchs, strict=True):
        torch.testing.assert_close(a, b)


def test_second_derivatives_and_batches_of_gradients(stand_in, monkeypatch):
    x = images().requires_grad_()
    found = []
    for ours in (stand_in, None):
        monkeypatch.setattr(_maximum, "_kernels_for", lambda x, ours=ours: ours)
        y = pool(x, "max")
        (grad,) = torch.autograd.grad(y.pow(3).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(grad.square().sum(), x)
        rows = torch.stack([torch.ones_like(y), y.detach()])
        (batch,) = torch.autograd.grad(pool(x, "max"), x, rows, is_grads_batched=True)
        found.append((second, batch))
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b)


def test_layers_and_heads_take_the_kernels(stand_in):
    x = images()
    DSS(nn.Conv2d(10, 4, 3), pool="max")(x)
    Merge(nn.Conv2d(10, 4, 3), pool="max")(x)
    assert stand_in.calls == 2


@pytest.mark.parametrize(
    "x",
    [
        vectors().double(),
        vectors().int(),
        vectors()[:, :, ::2],
        vectors()[:0],
        RaggedSets(vectors().flatten(0, 1), [2, 10]),
    ],
    ids=["float64", "integers", "gaps", "no sets", "ragged"],
)
def test_others_are_left_to_torch(x, stand_in):
    pool(x, "max")
    assert stand_in.calls == 0


def test_transforms_are_left_to_torch(stand_in):
    torch.func.vmap(lambda t: pool(t, "max"))(vectors()[None])
    with torch.autograd.forward_ad.dual_level():
        pool(torch.autograd.forward_ad.make_dual(vectors(), vectors()), "max")
    assert stand_in.calls == 0


@pytest.mark.gpu
@no_cuda
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kind", KINDS)
def test_kernels_agree_with_torch(kind, dtype, monkeypatch):
    assert kernels("tops") is not None
    x = KINDS[kind]("cuda", dtype)
    x[(0,) * x.ndim] = torch.nan if kind == "vectors" else 0
    assert _maximum.kernel_maximum(x) is not None
    ours = outcome(x)
    monkeypatch.setattr(_maximum, "_kernels_for", lambda x: None)
    for a, b in zip(ours, outcome(x), strict=True):
        torch.testing.assert_close(a, b, equal_nan=True, rtol=1e-2, atol=1e-2)
