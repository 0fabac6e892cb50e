"""Enlarging by two matrix products, as a GPU does it, beside the interpolation of torch."""

from importlib import import_module

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.functional import interpolate

from symsets import ops
from symsets.ops import _constants
from symsets.ops.enlarge import by_products

LAYOUTS = {"contiguous": torch.contiguous_format, "channels last": torch.channels_last}


@pytest.fixture(autouse=True)
def _no_matrices_left():
    _constants._kept.cache_clear()


def pictures(layout="contiguous", *, shape=(2, 3, 4, 5), dtype=torch.float64):
    x = torch.randn(shape, dtype=dtype).contiguous(memory_format=LAYOUTS[layout])
    return x.requires_grad_()


def derivatives(run, x):
    y = run(x)
    weights = torch.linspace(-1, 1, y.numel()).double().view(y.shape)
    (first,) = torch.autograd.grad((weights * y.square()).sum(), x, create_graph=True)
    return [y, first, *torch.autograd.grad(first.square().sum(), x)]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("scale", [2, 3, 8])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 3, 1, 1), (3, 2, 1, 6)])
def test_products_have_the_derivatives_of_the_interpolation(shape, scale, align_corners, layout):
    x = pictures(layout, shape=shape)
    ours = derivatives(lambda x: by_products(x, scale, align_corners), x)
    options = {"scale_factor": scale, "mode": "bilinear", "align_corners": align_corners}
    theirs = derivatives(lambda x: interpolate(x, **options), x)
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)
    if shape[2:] != (1, 1):  # a single pixel has no layout
        assert all(t.is_contiguous(memory_format=LAYOUTS[layout]) for t in ours[:2])
    assert torch.equal(ops.enlarge(x, scale, align_corners=align_corners), ours[0])
    with ops.plain("enlarge"):
        assert torch.equal(ops.enlarge(x, scale, align_corners=align_corners), theirs[0])


def test_other_layouts_and_no_pictures():
    x = pictures().transpose(2, 3)
    torch.testing.assert_close(by_products(x, 2, False), ops.enlarge(x, 2))
    assert by_products(torch.randn(0, 3, 4, 4), 2, False).shape == (0, 3, 8, 8)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_compiled_products_have_the_same_derivatives(layout):
    torch._dynamo.reset()
    x = pictures(layout)
    compiled = torch.compile(by_products, backend="aot_eager", fullgraph=True)
    found = []
    for run in (by_products, compiled, by_products):
        y = run(x, 2, True)
        found.append([y, *torch.autograd.grad(y.square().sum(), x)])
    torch.testing.assert_close(found[1], found[0], rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(found[2], found[0], rtol=1e-9, atol=1e-9)


def test_half_precision_stays_half():
    x = pictures(dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        assert by_products(x, 2, False).dtype == torch.bfloat16
    assert by_products(x.bfloat16(), 2, False).dtype == torch.bfloat16


def test_matrices_are_made_once_for_each_type_and_never_leave():
    shares = import_module("symsets.ops.enlarge")._shares

    def matrix(length, dtype=torch.float32):
        return _constants.constant(shares, (length, 2, False), dtype, torch.zeros(()))

    first, wide = matrix(3), matrix(3, torch.float64)
    assert (first.dtype, wide.dtype) == (torch.float32, torch.float64)
    torch.testing.assert_close(first.double(), wide)
    for length in range(1, 200):
        matrix(length)
    assert matrix(3) is first  # a captured CUDA graph may still read it
    assert matrix(3, torch.float64) is wide


def inside_inference(x):
    with torch.inference_mode():
        by_products(x, 2, False)


def inside_fake_tensors(x):
    with FakeTensorMode() as mode:
        by_products(mode.from_tensor(x), 2, False)


@pytest.mark.parametrize(
    "first",
    [
        inside_inference,
        inside_fake_tensors,
        lambda x: torch.vmap(lambda t: by_products(t, 2, False))(x[None]),
        lambda x: torch.func.grad(lambda t: by_products(t, 2, False).sum())(x),
        lambda x: torch.compile(by_products, backend="eager")(x, 2, False),
    ],
    ids=["inference mode", "fake tensors", "vmap", "grad", "compile"],
)
def test_matrices_are_plain_tensors_whatever_mode_made_them(first):
    torch._dynamo.reset()
    x = pictures()
    first(x.detach())
    y = by_products(x, 2, False)
    assert type(y) is torch.Tensor
    (of_x,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(of_x, torch.full_like(x, 4.0))
