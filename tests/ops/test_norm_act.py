"""Batch normalisation and activation by kernels: the numbers, gradients and statistics of torch."""

import copy

import pytest
import torch
from symsets.nn._applied import joined
from torch import nn
from torch.func import functional_call
from torch.nn.functional import elu, relu

from symsets import _kernels
from symsets.nn import DSS, Sequential, _normalise
from symsets.sets import RaggedSets

no_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
cuda = pytest.param("cuda", marks=[pytest.mark.gpu, no_cuda])
ACTIVATIONS = {"none": lambda u, a: u, "relu": lambda u, a: relu(u), "elu": elu}


class Plain:
    """What the kernels compute, in torch."""

    def __init__(self):
        self.calls = 0

    def measure(self, x, eps, momentum, running):
        self.calls += 1
        x = x.float()
        if running is not None:
            running[0].lerp_(x.mean(0), momentum)
            running[1].lerp_(x.var(0), momentum)
        return x.mean(0), (x.var(0, correction=0) + eps).rsqrt()

    def normalise(self, x, weight, bias, mean, scale, activation, a):
        u = (x.float() - mean) * scale * weight + bias
        return ACTIVATIONS[activation](u, a).to(x.dtype)

    def gradients(self, grad, x, weight, bias, mean, scale, activation, a):
        assert grad.data_ptr()  # what kernels read
        value = (x.float() - mean) * scale
        u = value * weight + bias
        slope = {"none": torch.ones_like(u), "relu": (u > 0).float()}.get(activation)
        g = grad.float() * (torch.where(u > 0, 1.0, a * u.exp()) if slope is None else slope)
        of_weight, of_bias = (g * value).sum(0), g.sum(0)
        dx = (g - of_bias / len(x) - value * of_weight / len(x)) * scale * weight
        return dx.to(x.dtype), of_weight, of_bias


@pytest.fixture
def stand_in(monkeypatch):
    """Let CPUs have kernels."""
    plain = Plain()
    monkeypatch.setattr(_normalise, "_kernels_for", lambda x: plain)
    return plain


@pytest.fixture
def by_torch(monkeypatch):
    """Return what applies a module without kernels."""

    def apply(module, x):
        with monkeypatch.context() as patch:
            patch.setattr(_normalise, "_kernels_for", lambda x: None)
            return module(x)

    return apply


def images(channels=3, device="cpu", dtype=torch.float32):
    x = 2 * torch.randn(4, channels, 5, 6, dtype=dtype, device=device) + 7
    return x.to(memory_format=torch.channels_last)


def signals(channels=3, device="cpu", dtype=torch.float32):
    return torch.randn(9, 4, channels, dtype=dtype, device=device).movedim(0, -1)


def vectors(channels=3, device="cpu", dtype=torch.float32):
    return torch.randn(11, channels, dtype=dtype, device=device)


KINDS = {
    "images": (images, nn.BatchNorm2d),
    "signals": (signals, nn.BatchNorm1d),
    "vectors": (vectors, nn.BatchNorm1d),
}
AFTER = {"none": None, "relu": nn.ReLU, "elu": lambda: nn.ELU(0.7)}


def make(kind, after, channels=3, device="cpu"):
    sample, norm = KINDS[kind]
    torch.manual_seed(0)
    parts = [norm(channels)] + ([AFTER[after]()] if AFTER[after] else [])
    nn.init.normal_(parts[0].weight)
    nn.init.normal_(parts[0].bias)
    return sample, Chain(*parts).to(device)


class Chain(nn.Sequential):
    """A normalisation and its activation, joined."""

    def forward(self, x):
        ((_, _, apply),) = joined(self)
        return apply(x)


def outcome(module, x, call=None):
    x = x.detach().requires_grad_()
    y = call(module, x) if call else module(x)
    parameters = list(module.parameters())
    weight = torch.linspace(-1, 1, y.numel(), device=y.device).view_as(y).to(y.dtype)
    grads = torch.autograd.grad((y * weight).sum(), [x, *parameters])
    return [y, *grads, *(b.clone() for b in module.buffers())]


@pytest.mark.parametrize("after", AFTER)
@pytest.mark.parametrize("kind", KINDS)
def test_values_gradients_and_statistics_are_those_of_torch(kind, after, stand_in, by_torch):
    sample, module = make(kind, after)
    x, twin = sample(), copy.deepcopy(module)
    ours = outcome(module, x)
    assert stand_in.calls == 1
    torchs = outcome(twin, x, by_torch)
    assert stand_in.calls == 1
    assert ours[0].stride() == x.stride()
    for a, b in zip(ours, torchs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_second_derivatives_are_those_of_torch(stand_in, by_torch):
    sample, module = make("images", "elu")
    x = sample().requires_grad_()
    for parts in ([x, *module.parameters()], [x]):
        found = []
        for call in (None, by_torch):
            y = call(module, x) if call else module(x)
            (grad,) = torch.autograd.grad(y.pow(3).sum(), x, create_graph=True)
            found.append(torch.autograd.grad(grad.square().sum(), parts))
        for a, b in zip(*found, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3)
    assert stand_in.calls == 2


def test_sets_of_all_kinds_take_the_kernels_in_a_chain(stand_in, by_torch):
    net = Sequential(DSS(nn.Conv2d(3, 4, 3)), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2))
    net = net.to(memory_format=torch.channels_last)
    rows = images()
    ragged = RaggedSets(rows, [1, 3])
    for x in (rows.unflatten(0, (2, 2)), ragged):
        ours, torchs = net(x), by_torch(net, x)
        if isinstance(x, RaggedSets):
            ours, torchs = ours.elements, torchs.elements
        torch.testing.assert_close(ours, torchs)
    assert stand_in.calls == 2


UNSUITED = {
    "evaluation": lambda m, x: (m.eval(), x),
    "channels first": lambda m, x: (m, x.contiguous()),
    "float64": lambda m, x: (m.double(), x.double()),
    "a hook": lambda m, x: (m[0].register_forward_hook(lambda *a: None) and m, x),
    "a hook of the activation": lambda m, x: (
        m[1].register_full_backward_hook(lambda *a: None) and m,
        x,
    ),
    "no weights": lambda m, x: (Chain(nn.BatchNorm2d(3, affine=False), nn.ReLU()), x),
    "a cumulative mean": lambda m, x: (Chain(nn.BatchNorm2d(3, momentum=None), nn.ReLU()), x),
}


@pytest.mark.parametrize("why", UNSUITED)
def test_what_kernels_do_not_do_is_left_to_torch(why, stand_in):
    module, x = UNSUITED[why](make("images", "relu")[1], images())
    assert torch.equal(module(x), nn.Sequential(*module)(x))
    assert stand_in.calls == 0


@pytest.mark.parametrize("name", ["weight", "bias", "running_mean", "running_var"])
def test_numbers_with_gaps_between_them_are_left_to_torch(name, stand_in):
    module, x = make("images", "relu")[1], images()
    apart = {f"0.{name}": torch.rand(3, 2)[:, 1]}
    functional_call(module, apart, (x,))
    assert stand_in.calls == 0
    functional_call(module, {name: value.clone() for name, value in apart.items()}, (x,))
    assert stand_in.calls == 1


def test_more_rows_than_can_be_counted_are_left_to_torch(stand_in, monkeypatch):
    monkeypatch.setattr(_normalise, "MOST_ROWS", 4 * 5 * 6 - 1)
    make("images", "relu")[1](images())
    assert stand_in.calls == 0


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_types_that_do_not_mix_get_the_sentence_of_torch(dtype, stand_in):
    with pytest.raises(RuntimeError, match="mixed dtype"):
        make("images", "relu")[1].to(dtype)(images())


def test_tensors_of_other_classes_are_left_to_torch(stand_in):
    class Derived(torch.Tensor):
        pass

    module, x = make("images", "relu")[1], images()
    assert type(module(x.as_subclass(Derived))) is Derived
    assert stand_in.calls == 0


def test_a_hook_may_change_the_shape_of_the_input(stand_in):
    module, x = make("images", "relu")[1], torch.randn(6, 3)
    module[0].register_forward_pre_hook(lambda norm, inputs: inputs[0][:, :, None, None])
    assert module(x).shape == (6, 3, 1, 1)


@pytest.mark.parametrize("kind", [nn.BatchNorm2d, nn.ReLU])
def test_a_class_whose_forward_was_replaced_is_left_alone(kind, stand_in, monkeypatch):
    monkeypatch.setattr(kind, "forward", lambda self, x: x + 1)
    module, x = make("images", "relu")[1], images()
    assert torch.equal(module(x), nn.Sequential(*module)(x))
    assert stand_in.calls == 0


def test_batches_are_not_counted_where_statistics_are_not_kept(stand_in):
    module = make("images", "relu")[1]
    module[0].track_running_stats = False
    module(images())
    assert stand_in.calls == 1
    assert module[0].num_batches_tracked == 0


def test_derived_classes_get_the_input_as_it_is(stand_in):
    class Watched(nn.BatchNorm1d):
        def forward(self, x):
            shapes.append(x.shape)
            return super().forward(x)

    shapes = []
    Chain(Watched(3))(signals())
    assert shapes == [(4, 3, 9)]
    assert stand_in.calls == 0


@pytest.mark.parametrize("after", AFTER)
def test_batches_of_gradients_are_those_of_torch(after, stand_in, by_torch):
    sample, module = make("images", after)
    x = sample().requires_grad_()
    grads = torch.randn(5, *x.shape)
    found = []
    for y in (module(x), by_torch(module, x)):
        wanted = [x, *module.parameters()]
        found.append(torch.autograd.grad(y, wanted, grads, is_grads_batched=True))
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-4)
    assert stand_in.calls == 1


def test_transforms_and_tangents_are_left_to_torch(stand_in):
    module, x = Chain(nn.BatchNorm2d(3, track_running_stats=False), nn.ReLU()), images()
    torch.func.grad(lambda t: module(t).sum())(x)
    with torch.autograd.forward_ad.dual_level():
        module(torch.autograd.forward_ad.make_dual(x, torch.ones_like(x)))
    assert stand_in.calls == 0
    module(x)
    assert stand_in.calls == 1


def test_a_single_row_and_wrong_axes_get_the_sentences_of_torch(stand_in):
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        Chain(nn.BatchNorm1d(3), nn.ReLU())(torch.randn(1, 3))
    with pytest.raises(ValueError, match="expected 4D input"):
        Chain(nn.BatchNorm2d(3), nn.ReLU())(torch.randn(2, 3))
    with pytest.raises(RuntimeError, match="3"):
        Chain(nn.BatchNorm1d(3), nn.ReLU())(torch.randn(2, 4))
    assert stand_in.calls == 0


# The bounds are those for gradients of whole networks, but for float32, where one layer can do
# better; the reference is torch in float64 on the same numbers.
@pytest.mark.parametrize("device", [cuda])
@pytest.mark.parametrize("channels", [5, 152])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("after", AFTER)
@pytest.mark.parametrize("kind", KINDS)
def test_kernels_agree_with_float64(kind, after, dtype, channels, device):
    assert _kernels.kernels("norms") is not None
    sample, module = make(kind, after, channels, device)
    x = sample(channels, device, dtype)
    ours = outcome(copy.deepcopy(module), x)
    exact = outcome(module.double(), x.double())
    bound = {torch.float32: 2e-5, torch.bfloat16: 2e-2, torch.float16: 3e-3}[dtype]
    for a, b in zip(ours, exact, strict=True):
        assert (a.double() - b.double()).norm() <= bound * max(b.double().norm(), 1e-3)


@pytest.mark.parametrize("device", [cuda])
def test_kernels_keep_a_small_variance_beside_a_large_mean_and_repeat_themselves(device):
    module = Chain(nn.BatchNorm2d(48), nn.ELU()).to(device)  # a kink would make finite differences
    x = (torch.randn(64, 48, 40, 40, device=device) + 1000).to(memory_format=torch.channels_last)
    ours = outcome(copy.deepcopy(module), x)
    again = outcome(copy.deepcopy(module), x)
    exact = outcome(module.double(), x.double())
    assert all(torch.equal(a, b) for a, b in zip(ours, again, strict=True))
    for a, b in zip(ours, exact, strict=True):
        assert (a.double() - b.double()).norm() <= 2e-4 * b.double().norm()
