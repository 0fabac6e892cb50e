"""Let the fast form of every operation run on a CPU, with kernels written in torch."""

from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from importlib import import_module
from types import SimpleNamespace

import pytest
import torch
from torch.nn.functional import elu, layer_norm, max_pool2d

from symsets import ops
from symsets.ops import _dispatch, triton

USERS = ("_dispatch", "conv2d", "spmm")  # modules that ask _dispatch.fast


class _OnGPU:
    is_cuda = True


def _read(*tensors):
    """Check what kernels take for granted: plain memory without gaps."""
    for t in tensors:
        assert type(t) in (torch.Tensor, torch.nn.Parameter)
        assert t.is_contiguous()


def _wide(x):
    return torch.promote_types(x.dtype, torch.float32)


def _total(x, context, shape):
    x = x.to(_wide(x))
    if context is None:
        return x
    groups = x.unflatten(0, (-1, *shape)) + context.unflatten(0, (-1, 1, shape[1]))
    return groups.flatten(0, 2)


def _moments(x, context, shape, eps, momentum, running):
    _read(*(t for t in (x, context, *(running or ())) if t is not None))
    total = _total(x, context, shape)
    if running is not None:
        for old, new in zip(running, (total.mean(0), total.var(0)), strict=True):
            old.copy_((1 - momentum) * old + momentum * new)
    return total.mean(0), (total.var(0, correction=0) + eps).rsqrt()


def _apply(x, context, shape, weight, bias, mean, scale, activation, alpha):
    _read(*(t for t in (x, context, weight, bias, mean, scale) if t is not None))
    u = (_total(x, context, shape) - mean) * scale * weight + bias
    act = {"none": torch.clone, "relu": torch.relu, "elu": lambda u: elu(u, alpha)}[activation]
    return act(u).to(x.dtype)


def _gradients(grad, x, context, shape, weight, bias, mean, scale, activation, alpha):
    _read(*(t for t in (grad, x, context, weight, bias, mean, scale) if t is not None))
    value = (_total(x, context, shape) - mean) * scale
    u = value * weight + bias
    below = {"none": torch.ones_like(u), "relu": torch.zeros_like(u), "elu": alpha * u.exp()}
    g = grad * torch.where(u > 0, 1.0, below[activation])
    of_weight, of_bias = (g * value).sum(0), g.sum(0)
    dx = (g - of_bias / len(x) - value * of_weight / len(x)) * scale * weight
    dcontext = x.new_empty(0)
    if context is not None:
        dcontext = dx.unflatten(0, (-1, *shape)).sum(1).flatten(0, 1).to(x.dtype)
    return dx.to(x.dtype), dcontext, of_weight.to(weight.dtype), of_bias.to(bias.dtype)


def _share(grad, x, y):
    _read(grad, x, y)
    holds = x == y[:, None]
    return ((grad / holds.sum(1))[:, None] * holds).to(x.dtype)


def _top(x):
    _read(x)
    return x.amax(1)


def _maxima(x, window):
    _read(x)
    y, place = max_pool2d(x.permute(0, 3, 1, 2), window, return_indices=True)
    which = (place // x.shape[2] % window) * window + place % x.shape[2] % window
    which = which.permute(0, 2, 3, 1).to(torch.uint8, memory_format=torch.contiguous_format)
    return y.permute(0, 2, 3, 1).contiguous(), which


def _spread(grad, which, height, width, window):
    _read(grad, which)
    images, high, wide, channels = grad.shape
    x = grad.new_zeros(images, height, width, channels)
    for step in range(window**2):
        rows = slice(step // window, high * window, window)
        columns = slice(step % window, wide * window, window)
        x[:, rows, columns] = torch.where(which == step, grad, 0.0)
    return x


def _spmm(starts, columns, values, x):
    _read(starts, columns, values, x)
    y = x.new_zeros(len(starts) - 1, x.shape[1])
    for row, (start, stop) in enumerate(
        zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    ):
        for entry in range(start, stop):
            y[row] += values[entry] * x[int(columns[entry])]
    return y


def _normalised(x, eps):
    _read(x)
    return layer_norm(x, x.shape[-1:], eps=eps)


def _of_normalised(grad, x, eps):
    _read(grad, x)
    scale = (x.var(-1, correction=0, keepdim=True) + eps).rsqrt()
    value = (x - x.mean(-1, keepdim=True)) * scale
    along = (grad * value).mean(-1, keepdim=True)
    return scale * (grad - grad.mean(-1, keepdim=True) - value * along)


def _added(x, bias):
    _read(x, bias)
    return (x.to(_wide(x)) + bias).to(x.dtype)


def _sum_of_pixels(x):
    _read(x)
    return x.to(_wide(x)).sum((0, 1, 2))


def _halves(x, context):
    _read(*(t for t in (x, context) if t is not None))
    if context is not None:
        assert context.shape[1:] == x.shape[1:]
        x = x + context.repeat_interleave(len(x) // len(context), 0)
    return x.chunk(2, -1)


def _gated(x, context):
    a, b = _halves(x, context)
    return a * b.sigmoid()


def _of_gated(grad, x, context):
    _read(grad)
    a, b = _halves(x, context)
    share = b.sigmoid()
    dx = torch.cat([grad * share, grad * a * share * (1 - share)], -1)
    if context is None:
        return dx, x.new_empty(0)
    return dx, dx.unflatten(0, (len(context), -1)).sum(1)


STAND_INS = {
    "add_bias": {"added": _added, "total": _sum_of_pixels},
    "channel_norm": {"normalised": _normalised, "gradient": _of_normalised},
    "gate": {"gated": _gated, "gradients": _of_gated},
    "norm_act": {"moments": _moments, "apply": _apply, "gradients": _gradients},
    "set_max": {"top": _top, "share": _share},
    "max_pool": {"maxima": _maxima, "spread": _spread},
    "spmm": {"spmm": _spmm},
}


class FastForms:
    """What the stand-ins of the kernels were called for."""

    def __init__(self):
        self.calls = []

    def note(self, name, run):
        def call(*args):
            self.calls.append(name)
            return run(*args)

        return call

    @contextmanager
    def expected(self, *names):
        """Check that exactly these kernels run inside, in this order."""
        self.calls.clear()
        yield
        assert self.calls == list(names)


def _let_cpus_be_fast(monkeypatch):
    real = _dispatch.fast
    for user in USERS:
        module = import_module(f"symsets.ops.{user}")
        monkeypatch.setattr(module, "fast", lambda name, x: real(name, _OnGPU))
    monkeypatch.setattr(_dispatch, "_captured", ContextVar("captured", default=True))


@pytest.fixture
def fast_forms(monkeypatch):
    """Run fast forms on CPU tensors; kernels are stand-ins, which know float64 as well."""
    forms = FastForms()
    _let_cpus_be_fast(monkeypatch)
    known = (*_dispatch.HALVES_AND_FLOAT, torch.float64)
    monkeypatch.setattr(_dispatch, "HALVES_AND_FLOAT", known)
    tried = {
        name: SimpleNamespace(**{key: forms.note(key, run) for key, run in parts.items()})
        for name, parts in STAND_INS.items()
    }
    monkeypatch.setattr(triton, "_tried", tried)
    return forms


@pytest.fixture
def interpreted_kernels(monkeypatch):
    """Run the kernels of triton on CPU tensors, where its interpreter was asked for."""
    _let_cpus_be_fast(monkeypatch)
    monkeypatch.setattr(torch.cuda, "device_of", lambda x: nullcontext())
    tried = {name: import_module(f"symsets.ops.triton.{name}") for name in STAND_INS}
    monkeypatch.setattr(triton, "_tried", tried)


@pytest.fixture
def three_types(monkeypatch, fast_forms):
    """Let the stand-ins know the types that the kernels know, and no others."""
    known = tuple(t for t in _dispatch.HALVES_AND_FLOAT if t != torch.float64)
    monkeypatch.setattr(_dispatch, "HALVES_AND_FLOAT", known)


@pytest.fixture
def agree(fast_forms):
    """Return a check that the fast form of ``fn`` has the derivatives of its plain form."""

    def check(fn, *inputs, calls=None):
        inputs = [t.detach().requires_grad_() for t in inputs]
        with ops.plain():
            plain = derivatives(fn, inputs)
        assert not fast_forms.calls
        fast = derivatives(fn, inputs)
        assert fast_forms.calls if calls is None else fast_forms.calls == calls
        fast_forms.calls.clear()
        torch.testing.assert_close(fast, plain, rtol=1e-9, atol=1e-9)
        assert _lies(fast[0]) == _lies(plain[0])
        return fast[0]

    return check


def _lies(x):
    """Return how far apart entries lie along all axes that have several."""
    return [step for size, step in zip(x.shape, x.stride(), strict=True) if size > 1]


def derivatives(fn, inputs):
    """Return value, gradient and second derivative; the gradient also without a graph of it."""
    y = fn(*inputs)
    weight = torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view(y.shape)
    loss = (weight * y.square()).sum()
    once = torch.autograd.grad(loss, inputs, retain_graph=True)
    first = torch.autograd.grad(loss, inputs, create_graph=True)
    second = torch.autograd.grad(sum(g.square().sum() for g in first), inputs, allow_unused=True)
    return [y, *once, *first, *(torch.zeros(()) if s is None else s for s in second)]
