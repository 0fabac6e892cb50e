"""Adding in memory that is already there: the same values and gradients, and nobody notices."""

import copy
from functools import partial

import pytest
import torch
from elements import EDGES
from torch import nn
from torch.func import functional_call, grad, jvp, vmap
from torch.overrides import BaseTorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

from symsets import DSS, RaggedSets, SetAttention
from symsets._kernels import kernels
from symsets._plain import is_transformed
from symsets.nn import CircularConv1d, CircularConv2d, Graph, GraphConv, _beside, _memory
from symsets.nn._memory import add_into, makes_new_memory, own_gradient


class Hidden(nn.Module):
    """A map of unknown class, whose result is never reused."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *args):
        return self.inner(*args)


MAPS = {
    "linear": (lambda: nn.Linear(3, 4), (3,), ()),
    "conv1d": (lambda: nn.Conv1d(3, 4, 1), (3, 6), ()),
    "conv2d": (lambda: nn.Conv2d(3, 4, 3, padding=1), (3, 5, 5), ()),
    "conv3d": (lambda: nn.Conv3d(3, 4, 1), (3, 2, 2, 2), ()),
    "circular1d": (lambda: CircularConv1d(3, 4, 3), (3, 6), ()),
    "spectral1d": (lambda: CircularConv1d(3, 4, 6, method="spectral"), (3, 6), ()),
    "circular2d": (lambda: CircularConv2d(3, 4, 3), (3, 5, 5), ()),
    "graph": (lambda: GraphConv(3, 3), (3, 5), (Graph(EDGES, 5),)),
    "graph, wider": (lambda: GraphConv(3, 4), (3, 5), (Graph(EDGES, 5),)),
}


def results(layer, x, *args):
    """Return the output, and the gradients of a loss that is not linear in it."""
    rows = (x.elements if isinstance(x, RaggedSets) else x).requires_grad_()
    y = layer(x, *args)
    y = y.elements if isinstance(y, RaggedSets) else y
    return y, *torch.autograd.grad(y.pow(3).sum(), [rows, *layer.parameters()])


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("kind", MAPS)
def test_reused_memory_holds_the_same_sum_with_the_same_gradients(kind, ragged):
    make, shape, args = MAPS[kind]
    layer = DSS(make()).double()
    assert makes_new_memory(layer.element)
    plain = copy.deepcopy(layer)
    plain.element = Hidden(plain.element)
    x = torch.randn(6, *shape).double()
    sets = RaggedSets(x, [1, 2, 3]) if ragged else x.unflatten(0, (2, 3)).clone()
    for a, b in zip(results(layer, sets, *args), results(plain, sets, *args), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


def test_the_sum_lies_in_the_memory_of_its_first_term_and_autograd_copies_nothing():
    rows = nn.Linear(3, 4)(torch.randn(6, 3))
    y = rows.unflatten(0, (2, 3))
    total = add_into(y, torch.randn(2, 1, 4))
    assert total.data_ptr() == rows.data_ptr()
    assert type(total.grad_fn).__name__ == "AddBackward0"  # and not CopySlices


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("kind", MAPS)
def test_few_numbers_get_new_memory_and_the_same_gradients(kind, ragged, monkeypatch):
    make, shape, args = MAPS[kind]
    layer, x = DSS(make()).double(), torch.randn(6, *shape).double()
    sets = RaggedSets(x, [1, 2, 3]) if ragged else x.unflatten(0, (2, 3)).clone()
    reused = results(layer, sets, *args)
    monkeypatch.setattr(_memory, "FEW", 1000)
    y = torch.randn(2, 3, 4)
    assert add_into(y, torch.randn(2, 1, 4)).data_ptr() != y.data_ptr()
    assert own_gradient(y.requires_grad_()) is y
    for a, b in zip(results(layer, sets, *args), reused, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_a_wider_type_gets_memory_of_its_own():
    y = torch.ones(2, dtype=torch.bfloat16)
    total = add_into(y, torch.full((2,), 2.0**-12))
    assert total.dtype == torch.float32
    assert total.tolist() == [1 + 2.0**-12] * 2


@pytest.mark.parametrize("element", [nn.Identity(), nn.ReLU(), nn.Sequential(nn.Linear(3, 3))])
def test_other_maps_keep_what_they_return(element):
    assert not makes_new_memory(element)
    x = torch.randn(2, 3, 3)
    before = x.clone()
    y, *_ = results(DSS(element, nn.Linear(3, 3)), x)
    assert torch.equal(x, before)
    assert y.data_ptr() != x.data_ptr()


def test_derived_and_patched_maps_are_not_trusted():
    class Cached(nn.Linear):
        pass

    patched = nn.Linear(2, 2)
    patched.forward = lambda x: x
    assert not makes_new_memory(Cached(2, 2))
    assert not makes_new_memory(patched)


@pytest.mark.parametrize("everywhere", [False, True])
def test_hooks_see_what_the_map_returns(everywhere):
    layer, x, seen = DSS(nn.Linear(3, 4)), torch.randn(2, 3, 3), []

    def keep(module, args, output):
        if module is layer.element:
            seen.append(output)

    register = nn.modules.module.register_module_forward_hook
    handle = register(keep) if everywhere else layer.element.register_forward_hook(keep)
    layer(x)
    handle.remove()
    torch.testing.assert_close(seen[0], layer.element(x.flatten(0, 1)))


def test_second_derivatives_pass_the_check():
    layer = DSS(nn.Linear(2, 2)).double()
    x = torch.randn(1, 3, 2).double().requires_grad_()
    assert torch.autograd.gradgradcheck(lambda x: layer(x).pow(3), (x,))


@pytest.mark.parametrize("layer", [DSS(nn.Linear(3, 3)), SetAttention(nn.Linear(3, 3))])
def test_transforms_of_the_message_alone_work(layer):
    x = torch.randn(2, 4, 3)
    names = [name for name, _ in layer.named_parameters() if not name.startswith("element")]
    weights = {name: layer.get_parameter(name).detach() for name in names}

    def loss(weights):
        return functional_call(layer, weights, (x,)).pow(2).sum()

    stacked = {name: torch.stack([w, 2 * w]) for name, w in weights.items()}
    torch.testing.assert_close(vmap(loss)(stacked)[0], loss(weights))
    expected = torch.autograd.grad(layer(x).pow(2).sum(), [layer.get_parameter(n) for n in names])
    torch.testing.assert_close(tuple(grad(loss)(weights).values()), expected)
    slope = sum((g * weights[n]).sum() for n, g in zip(names, expected, strict=True))
    torch.testing.assert_close(jvp(loss, (weights,), (weights,))[1], slope)


def test_forward_mode_gives_the_same_slope():
    layer, x = DSS(nn.Linear(3, 4)), torch.randn(2, 3, 3)
    with torch.autograd.forward_ad.dual_level():
        dual = layer(torch.autograd.forward_ad.make_dual(x, x))
        slope = torch.autograd.forward_ad.unpack_dual(dual).tangent
    torch.testing.assert_close(slope, layer(x) - layer(torch.zeros_like(x)))


@pytest.fixture
def see_gradient(monkeypatch):
    """Call a function with what arrives from the element map."""

    def see(hook):
        def watched(x):
            y = own_gradient(x)
            y.register_hook(hook)
            return y

        monkeypatch.setattr("symsets.nn.base.own_gradient", watched)

    return see


def test_gradients_add_up_in_the_memory_of_the_first(see_gradient):
    layer, x, arrived = DSS(nn.Linear(3, 4)), torch.randn(2, 5, 3).requires_grad_(), []
    see_gradient(lambda g: arrived.append(g.data_ptr()))
    (gradient,) = torch.autograd.grad(layer(x).pow(2).sum(), [x])
    assert arrived == [gradient.data_ptr()]


def test_a_gradient_that_somebody_holds_stays_as_it_is(see_gradient):
    layer, x, held = DSS(nn.Linear(3, 4)), torch.randn(2, 5, 3).requires_grad_(), []
    see_gradient(held.append)
    (gradient,) = torch.autograd.grad(layer(x).sum(), [x])
    alone = layer.element.weight.sum(0).expand(2, 5, 3)
    torch.testing.assert_close(held[0], alone)
    assert not torch.allclose(gradient, alone)


def test_a_hook_may_change_the_input_of_the_map_in_place():
    layer, x = DSS(nn.Linear(3, 4)), torch.randn(2, 5, 3, requires_grad=True)
    expected = layer.element(2 * x) + layer.context(x.sum(1))[:, None]
    layer.element.register_forward_pre_hook(lambda module, args: (args[0].mul_(2),))
    torch.testing.assert_close(layer(x * 1), expected)


@pytest.mark.parametrize("kept", ["addmm", "convolution"])
def test_selective_checkpoints_keep_what_the_map_returned(kept):
    make = {"addmm": lambda i, o: nn.Linear(i, o), "convolution": lambda i, o: nn.Conv1d(i, o, 1)}
    net = nn.Sequential(DSS(make[kept](3, 4)), nn.Tanh(), DSS(make[kept](4, 4))).double()
    shape = (2, 5, 3) if kept == "addmm" else (2, 5, 3, 6)
    x = torch.randn(shape, dtype=torch.float64)
    expected = torch.autograd.grad(net(x).pow(2).sum(), list(net.parameters()))
    operator = getattr(torch.ops.aten, kept).default
    contexts = partial(create_selective_checkpoint_contexts, [operator])
    y = checkpoint(net, x, use_reentrant=False, context_fn=contexts)
    found = torch.autograd.grad(y.pow(2).sum(), list(net.parameters()))
    torch.testing.assert_close(found, expected)


def test_a_mode_sees_what_the_map_returned():
    seen = []

    class Record(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            if func is torch.ops.aten.addmm.default:
                seen.append((result, result.clone()))
            return result

    with Record():
        DSS(nn.Linear(3, 4))(torch.randn(2, 5, 3))
    for result, then in seen:
        torch.testing.assert_close(result, then)


def test_a_class_whose_forward_was_replaced_is_left_alone(monkeypatch):
    assert makes_new_memory(nn.Linear(3, 4))
    monkeypatch.setattr(nn.Linear, "forward", lambda self, x: x)
    assert not makes_new_memory(nn.Linear(3, 4))


@pytest.mark.filterwarnings("ignore")  # tracing is deprecated, and warns of every check of shapes
def test_a_traced_layer_can_be_saved(tmp_path):
    net = nn.Sequential(DSS(nn.Linear(3, 4)), DSS(nn.Linear(4, 4)))
    x = torch.randn(2, 5, 3)
    torch.jit.trace(net, x).save(tmp_path / "net.pt")


class AddsInPlace:
    """What the kernel does, in torch."""

    def __init__(self):
        self.calls = 0

    def add(self, y, message):
        self.calls += 1
        assert y.data_ptr()  # what kernels read
        y.add_(message)


@pytest.fixture
def stand_in(monkeypatch):
    """Let CPUs have a kernel, and let all elements be large."""
    plain = AddsInPlace()
    for module in (_memory, _beside):
        monkeypatch.setattr(module, "LARGE", 1)
        monkeypatch.setattr(module, "_kernels_for", lambda y: plain)
    return plain


@pytest.mark.parametrize("pool", ["sum", "mean", "max"])
@pytest.mark.parametrize("kind", ["conv2d", "conv1d", "linear"])
def test_messages_and_sums_have_the_same_gradients_by_a_kernel(kind, pool, stand_in, monkeypatch):
    make, shape, _ = MAPS[kind]
    layer = DSS(make(), pool=pool, size=4.0 if pool == "sum" else 1.0)
    x = torch.randn(2, 3, *shape)
    if kind == "conv2d":
        layer = layer.to(memory_format=torch.channels_last)
        x = x.movedim(2, -1).contiguous().movedim(-1, 2)
    found = results(layer, x.clone()), second_derivatives(layer, x)
    # two messages; for sums, gradients that met in both passes without a graph of their own
    assert stand_in.calls == (2 if pool == "max" else 4)
    for module in (_memory, _beside):
        monkeypatch.setattr(module, "_kernels_for", lambda y: None)
    expected = results(layer, x.clone()), second_derivatives(layer, x)
    for order in (0, 1):
        for a, b in zip(found[order], expected[order], strict=True):
            torch.testing.assert_close(a, b)


def test_gradients_that_somebody_sees_are_not_shared(stand_in):
    layer, x = DSS(nn.Conv2d(3, 4, 3)), torch.randn(2, 3, 3, 5, 5, requires_grad=True)
    assert _beside.shares_gradient(x, layer.element)
    seen = []
    layer.element.register_full_backward_hook(lambda module, inputs, outputs: seen.append(inputs))
    assert not _beside.shares_gradient(x, layer.element)
    assert not _beside.shares_gradient(x.detach(), layer.element)
    assert not _beside.shares_gradient(x[:, :1], layer.element)
    assert not _beside.shares_gradient(x.transpose(0, 1), layer.element)
    layer(x).sum().backward()
    assert len(seen) == 1


@pytest.mark.parametrize("kind", ["conv2d", "conv1d", "linear"])
def test_batches_of_gradients_are_the_same_by_a_kernel(kind, stand_in, monkeypatch):
    make, shape, _ = MAPS[kind]
    layer, x = DSS(make()), torch.randn(2, 3, *shape, requires_grad=True)
    grads, found = torch.randn(5, *layer(x).shape), []
    for module in (stand_in, None):
        monkeypatch.setattr(_memory, "_kernels_for", lambda y, module=module: module)
        found += torch.autograd.grad(layer(x), x, grads, is_grads_batched=True)
    torch.testing.assert_close(*found)


def test_derived_layers_say_what_they_want(stand_in):
    class Silent(DSS):
        def message(self, x, *args):
            return torch.zeros_like(super().message(x, *args))

    layer, x = Silent(nn.Conv1d(3, 4, 1)), torch.randn(2, 3, 3, 5, requires_grad=True)
    torch.testing.assert_close(layer(x), layer.map(x))


def test_tensors_of_other_classes_are_left_to_torch(stand_in):
    class Derived(torch.Tensor):
        pass

    layer = DSS(nn.Conv1d(3, 4, 1))
    layer(torch.randn(2, 3, 3, 5).as_subclass(Derived).requires_grad_()).sum().backward()
    assert stand_in.calls == 0


def second_derivatives(layer, x):
    x = x.clone().requires_grad_()
    (grad,) = torch.autograd.grad(layer(x).pow(3).sum(), x, create_graph=True)
    return torch.autograd.grad(grad.square().sum(), [x, layer.element.weight, layer.context.weight])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("size", [31, 64])
def test_the_kernel_adds_as_torch_does(size, dtype):
    assert kernels("messages") is not None
    y = torch.randn(3, 4, size, size, 24, device="cuda", dtype=dtype)
    message = torch.randn(3, 1, size, size, 24, device="cuda", dtype=dtype)
    assert _memory._suits_kernel(y, message)
    expected = y + message
    assert torch.equal(add_into(y, message), expected)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_the_kernel_adds_to_elements_of_any_size():
    width = 2**16 * 2048 + 1  # more blocks than a second axis of a grid can have
    y = torch.zeros(1, 2, width, device="cuda", dtype=torch.float16)
    assert add_into(y, torch.ones_like(y[:, :1])).min() == 1


def test_a_default_device_is_no_transform():
    assert not is_transformed()
    with torch.device("cpu"):
        assert not is_transformed()
        with BaseTorchFunctionMode():
            assert is_transformed()
