"""One battery for every operation with kernels: all that torch does with an operation."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.func import functional_call

from symsets import ops

C = 4


@dataclass(frozen=True)
class Operation:
    """A function of tensors, what makes them, and the kernels of its passes."""

    run: Callable[..., torch.Tensor]
    sample: Callable[[], tuple[torch.Tensor, ...]]
    forward: tuple[str, ...]
    backward: tuple[str, ...]


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.act = nn.BatchNorm2d(C, track_running_stats=False), nn.ELU(0.7)

    def forward(self, y, context=None):
        return ops.norm_act(y, context, self.norm, self.act)


NORMED = Normed()


def of_norm(y, weight, bias, *context):
    return functional_call(NORMED, {"norm.weight": weight, "norm.bias": bias}, (y, *context))


def normed(*, context):
    def sample():
        y, told = torch.randn(2, 3, 5, 6, C).double(), torch.randn(2, 5, 6, C).double()
        weights = torch.randn(C).double(), torch.randn(C).double()
        return (y.movedim(-1, 2), *weights, *([told.movedim(-1, 1)] if context else []))

    return Operation(of_norm, sample, ("moments", "apply"), ("gradients",))


def ties(*shape):
    return torch.randint(-2, 3, shape).double()


def pixels(channels, num=2):
    return lambda: (torch.randn(num, 3, 4, channels).double().movedim(-1, 1),)


ROW, COLUMN = torch.tensor([0, 0, 2, 2, 3]), torch.tensor([1, 3, 0, 0, 2])
MATRIX = ops.SparseMatrix.from_entries(ROW, COLUMN, torch.randn(5).double(), 4)

OPERATIONS = {
    "norm_act": normed(context=False),
    "norm_act of a sum": normed(context=True),
    "set_max": Operation(ops.set_max, lambda: (ties(2, 3, 8, 9),), ("top",), ("share",)),
    "max_pool": Operation(
        lambda x: ops.max_pool(x, 2),
        lambda: (ties(2, 5, 7, 3).movedim(-1, 1),),
        ("maxima",),
        ("spread",),
    ),
    "channel_norm": Operation(
        lambda x: ops.channel_norm(x, 1e-2), pixels(5), ("normalised",), ("gradient",)
    ),
    "add_bias": Operation(
        ops.add_bias,
        lambda: (*pixels(5)(), torch.randn(5).double()),
        ("added",),
        ("total",),
    ),
    "gate": Operation(ops.gate, pixels(6), ("gated",), ("gradients",)),
    "gate of a sum": Operation(
        ops.gate, lambda: (*pixels(6, 4)(), *pixels(6)()), ("gated",), ("gradients",)
    ),
    "spmm": Operation(lambda x: MATRIX @ x, lambda: (torch.randn(4, 6).double(),), ("spmm",), ()),
}


@pytest.fixture(params=OPERATIONS)
def operation(request):
    return OPERATIONS[request.param]


def stacked(*tensors):
    """Stack tensors that go on lying in memory as they did."""
    order, back = ops.memory_order(tensors[0])
    return torch.stack([t.permute(order) for t in tensors]).permute(0, *(k + 1 for k in back))


def fast_and_plain(fn):
    with ops.plain():
        plain = fn()
    return fn(), plain


def test_value_gradient_and_second_derivative(operation, agree):
    agree(operation.run, *operation.sample())


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # one gradient after the other
def test_batches_of_gradients(operation, fast_forms):
    inputs = [t.requires_grad_() for t in operation.sample()]

    def gradients():
        y = operation.run(*inputs)
        grads = torch.linspace(-1, 1, 5 * y.numel()).double().view(5, *y.shape)
        return torch.autograd.grad(y, inputs, grads, is_grads_batched=True)

    torch.testing.assert_close(*fast_and_plain(gradients), rtol=1e-9, atol=1e-9)
    assert set(operation.forward + operation.backward) <= set(fast_forms.calls)


def test_vmap(operation, fast_forms):
    samples = [operation.sample() for _ in range(3)]
    batch = [stacked(*parts).requires_grad_() for parts in zip(*samples, strict=True)]

    def mapped():
        y = torch.vmap(operation.run)(*batch)
        return [y, *torch.autograd.grad(y.pow(3).sum(), batch)]

    def shared():
        first, *rest = batch
        return torch.vmap(lambda x: operation.run(x, *(t[0] for t in rest)))(first)

    torch.testing.assert_close(*fast_and_plain(mapped), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(*fast_and_plain(shared), rtol=1e-9, atol=1e-9)
    assert set(operation.forward + operation.backward) <= set(fast_forms.calls)


def test_tangents(operation, fast_forms):
    inputs = operation.sample()

    def tangent():
        with forward_ad.dual_level():
            y = operation.run(*(forward_ad.make_dual(t, t.sin()) for t in inputs))
            return forward_ad.unpack_dual(y).tangent

    torch.testing.assert_close(*fast_and_plain(tangent), rtol=1e-9, atol=1e-9)


def test_shapes_are_known_without_numbers(operation, fast_forms):
    real = [t.requires_grad_() for t in operation.sample()]
    expected = operation.run(*real)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        inputs = [mode.from_tensor(t) for t in real]
        fast_forms.calls.clear()
        y = operation.run(*inputs)
        grads = torch.autograd.grad(y.sum(), inputs)
    assert (y.shape, y.stride()) == (expected.shape, expected.stride())
    assert [g.shape for g in grads] == [t.shape for t in real]
    assert fast_forms.calls == []


def test_a_compiler_gets_the_plain_form(operation, fast_forms):
    torch._dynamo.reset()
    inputs = [t.requires_grad_() for t in operation.sample()]
    compiled = torch.compile(operation.run, backend="aot_eager", fullgraph=True)

    def outcome(run):
        y = run(*inputs)
        return [y, *torch.autograd.grad(y.pow(3).sum(), inputs)]

    found = outcome(compiled)
    if operation is not OPERATIONS["spmm"]:  # an operator in graphs, too, whose kernel runs there
        assert fast_forms.calls == []
    torch.testing.assert_close(found, outcome(operation.run), rtol=1e-9, atol=1e-9)
    assert fast_forms.calls


def test_the_switch(operation, fast_forms):
    inputs = operation.sample()
    name = next(key for key, value in OPERATIONS.items() if value is operation).split()[0]
    other = "set_max" if name != "set_max" else "spmm"
    with ops.plain():
        operation.run(*inputs)
    with ops.plain(name), ops.plain(other):
        operation.run(*inputs)
    assert fast_forms.calls == []
    with fast_forms.expected(*operation.forward), ops.plain(other):
        operation.run(*inputs)
    with fast_forms.expected(*operation.forward):
        operation.run(*inputs)


def test_an_unknown_operation_is_refused():
    choices = r"\['add_bias', 'channel_norm', 'conv2d', 'enlarge', 'gate', .*, 'spectral', 'spmm'\]"
    with pytest.raises(ValueError, match=f"name must be one of {choices}, got 'set_min'"):
        ops.plain("set_max", "set_min").__enter__()


def test_registered_operators_keep_the_rules_of_torch(fast_forms):
    rows, told = torch.randn(12, C), torch.randn(4, C)
    line = [torch.rand(C) for _ in range(4)]  # weight, bias, mean, scale
    sets = torch.randn(2, 3, 8).round()
    pixels, even = torch.randn(2, 5, 7, 3), torch.randn(2, 5, 7, 4)
    places = torch.randint(0, 4, (2, 2, 3, 3), dtype=torch.uint8)
    matrix = MATRIX.matrix.parts(torch.float32)
    running = [torch.rand(C) for _ in range(2)]
    for name, *args in (
        ("norm_act", rows, told, *line, 3, 2, 1e-5, "elu", 0.7),
        ("norm_act", rows, None, *line, 3, 2, 1e-5, "none", 0.7),
        ("norm_act_gradients", rows.cos(), rows, told, *line, 3, 2, "relu", 1.0),
        ("norm_act_gradients", rows.cos(), rows, None, *line, 3, 2, "elu", 0.7),
        ("batch_moments", rows, told, 3, 2, 1e-5, 0.1, *running),
        ("batch_moments", rows, None, 3, 2, 1e-5, 0.1, None, None),
        ("set_max", sets),
        ("set_max_gradient", sets.amax(1), sets, sets.amax(1)),
        ("max_pool", pixels, 2),
        ("max_pool_gradient", torch.randn(2, 2, 3, 3), places, 5, 7, 2),
        ("channel_norm", pixels, 1e-3),
        ("channel_norm_gradient", pixels.cos(), pixels, 1e-3),
        ("add_bias", pixels, torch.rand(3)),
        ("add_bias_gradient", pixels),
        ("gate", even, None),
        ("gate", even, even[:1].sin()),
        ("gate_gradients", even[..., :2].cos(), even, None),
        ("gate_gradients", even[..., :2].cos(), even, even[:1].sin()),
        ("spmm", *matrix, torch.randn(4, 6)),
    ):
        operator = getattr(torch.ops.symsets, name).default
        torch.library.opcheck(operator, args)
        if name in ("norm_act", "set_max", "max_pool", "channel_norm", "add_bias", "gate"):
            leaf = args[0].clone().requires_grad_()
            torch.library.opcheck(operator, (leaf, *args[1:]))
