"""Normalise, add the context and activate: the fast form has the numbers of the modules."""

import copy
from importlib import import_module

import pytest
import torch
from torch import nn
from torch.func import functional_call

from symsets import ops

B, N, C = 2, 3, 4


def images(b=B, n=N, dtype=torch.float64):
    """Sets ``(B, N, C, H, W)`` that lie channels-last, and what their sets are told."""
    y = torch.randn(b, n, 5, 6, C, dtype=dtype).movedim(-1, 2)
    return 2 * y + 7, torch.randn(b, 5, 6, C, dtype=dtype).movedim(-1, 1)


def signals(b=B, n=N, dtype=torch.float64):
    """Sets ``(B, N, C, L)`` whose entries lie first."""
    y = torch.randn(7, b, n, C, dtype=dtype).movedim(0, -1)
    return y, torch.randn(7, b, C, dtype=dtype).movedim(0, -1)


def vectors(b=B, n=N, dtype=torch.float64):
    return torch.randn(b, n, C, dtype=dtype), torch.randn(b, C, dtype=dtype)


def volumes(b=B, n=N, dtype=torch.float64):
    y = torch.randn(b, n, 2, 3, 2, C, dtype=dtype).movedim(-1, 2)
    return y, torch.randn(b, 2, 3, 2, C, dtype=dtype).movedim(-1, 1)


KINDS = {
    "images": (images, nn.BatchNorm2d),
    "signals": (signals, nn.BatchNorm1d),
    "vectors": (vectors, nn.BatchNorm1d),
    "volumes": (volumes, nn.BatchNorm3d),
}
ACTS = {"none": nn.Identity, "relu": nn.ReLU, "elu": lambda: nn.ELU(0.7)}


def make(kind, dtype=torch.float64, **options):
    sample, norm_class = KINDS[kind]
    norm = norm_class(C, dtype=dtype, **options)
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    return (*sample(dtype=dtype), norm)


def of_weights(norm, act):
    """Return the operation as a function of all that it has gradients for."""

    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.act = norm, act

        def forward(self, y, context=None):
            return ops.norm_act(y, context, self.norm, self.act)

    whole = Whole()
    return lambda weight, bias, *sets: functional_call(
        whole, {"norm.weight": weight, "norm.bias": bias}, sets
    )


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tells", [True, False], ids=["context", "no context"])
def test_value_gradient_and_second_derivative(kind, act, tells, agree):
    y, context, norm = make(kind)
    sets = (y, context) if tells else (y,)
    out = agree(of_weights(norm, ACTS[act]()), norm.weight, norm.bias, *sets)
    assert out.stride() == y.stride()


@pytest.mark.parametrize("sets", [images(b=1), images(n=1), signals(b=1), signals(n=1)])
@pytest.mark.parametrize("lie", [torch.clone, torch.Tensor.contiguous])
def test_a_context_may_lie_as_it_likes(sets, lie, agree):
    y, context = sets
    norm = KINDS["images" if y.ndim == 5 else "signals"][1](C).double()
    agree(of_weights(norm, nn.ELU()), norm.weight, norm.bias, y, lie(context))


def test_a_context_may_be_a_part_of_something_larger(agree):
    y, _, norm = make("vectors")
    fn, wide = of_weights(norm, nn.ReLU()), torch.randn(B, 2 * C).double()
    agree(lambda w, b, y, c: fn(w, b, y, c[:, C:]), norm.weight, norm.bias, y, wide)


STATISTICS = {
    "as usual": {},
    "momentum of one": {"momentum": 1.0},
    "momentum of zero": {"momentum": 0.0},
    "another eps": {"eps": 0.5},
    "none": {"track_running_stats": False},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", STATISTICS.values(), ids=STATISTICS)
def test_running_statistics(kind, options, fast_forms):
    y, context, norm = make(kind, **options)
    twin = copy.deepcopy(norm)
    for told in (context, None):
        with fast_forms.expected("moments", "apply"):
            out = ops.norm_act(y, told, norm, nn.ReLU())
        with ops.plain():
            expected = ops.norm_act(y, told, twin, nn.ReLU())
        torch.testing.assert_close(out, expected, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(norm.state_dict(), twin.state_dict(), rtol=1e-9, atol=1e-9)


def test_statistics_that_are_switched_off_later_stay_as_they_were(fast_forms):
    y, context, norm = make("images")
    before = copy.deepcopy(norm.state_dict())
    norm.track_running_stats = False
    with fast_forms.expected("moments", "apply"):
        ops.norm_act(y, context, norm, nn.ReLU())
    torch.testing.assert_close(norm.state_dict(), before, rtol=0, atol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_the_formula(kind):
    y, context, norm = make(kind)
    total = (y + context.unsqueeze(1)).flatten(0, 1)
    expected = nn.functional.elu(copy.deepcopy(norm)(total)).unflatten(0, y.shape[:2])
    torch.testing.assert_close(ops.norm_act(y, context, norm, nn.ELU()), expected)


# What is changed of the norm, the activation, the sets and their context
LEFT_TO_TORCH = {
    "evaluation": {"norm": lambda n: n.eval()},
    "no weights": {"norm": lambda n: nn.BatchNorm2d(C, affine=False)},
    "a cumulative mean": {"norm": lambda n: nn.BatchNorm2d(C, momentum=None)},
    "groups": {"norm": lambda n: nn.GroupNorm(2, C)},
    "a class derived": {"norm": lambda n: type("Mine", (nn.BatchNorm2d,), {})(C)},
    "another activation": {"act": lambda a: nn.SiLU()},
    "channels first": {"y": lambda y: y.contiguous()},
    "gaps": {"y": lambda y: y[:, :, :, ::2], "context": lambda c: c[:, :, ::2]},
    "float64": {key: lambda t: t.double() for key in ("norm", "y", "context")},
    "a context for all entries": {"context": lambda c: c[..., :1, :1]},
    "a context of another type": {"context": lambda c: c.bfloat16()},
}


@pytest.mark.parametrize("why", LEFT_TO_TORCH)
def test_what_kernels_do_not_do_is_left_to_torch(why, fast_forms, three_types):
    y, context, norm = make("images", torch.float32)
    parts = {"y": y, "context": context, "norm": norm, "act": nn.ReLU()}
    parts |= {key: change(parts[key]) for key, change in LEFT_TO_TORCH[why].items()}
    twin = copy.deepcopy(parts["norm"])
    out = ops.norm_act(**parts)
    assert fast_forms.calls == []
    total = (parts["y"] + parts["context"].unsqueeze(1)).flatten(0, 1)
    torch.testing.assert_close(out, parts["act"](twin(total)).unflatten(0, y.shape[:2]))


def test_these_cases_would_be_taken_otherwise(fast_forms, three_types):
    y, context, norm = make("images", torch.float32)
    with fast_forms.expected("moments", "apply"):
        ops.norm_act(y, context, norm, nn.ReLU())


@pytest.mark.parametrize("name", ["weight", "bias", "running_mean", "running_var"])
def test_numbers_with_gaps_between_them_are_left_to_torch(name, fast_forms):
    y, context, norm = make("images")
    apart = torch.rand(C, 2).double()[:, 1]
    setattr(norm, name, nn.Parameter(apart) if name in ("weight", "bias") else apart)
    ops.norm_act(y, context, norm, nn.ReLU())
    assert fast_forms.calls == []


@pytest.mark.parametrize(("limit", "value"), [("MOST_CHANNELS", C - 1), ("MOST_ROWS", 179)])
def test_what_is_too_large_is_left_to_torch(limit, value, fast_forms, monkeypatch):
    y, context, norm = make("images")  # 180 rows
    module = import_module("symsets.ops.norm_act")
    monkeypatch.setattr(module, limit, value + 1)
    with fast_forms.expected("moments", "apply"):
        ops.norm_act(y, context, norm, nn.ReLU())
    monkeypatch.setattr(module, limit, value)
    with fast_forms.expected():
        ops.norm_act(y, context, norm, nn.ReLU())


@pytest.mark.parametrize(
    ("norm", "shape", "message"),
    [
        (nn.BatchNorm1d(C), (1, 1, C), "more than 1 value per channel"),
        (nn.BatchNorm1d(C), (2, 3, 5, 6, C), "expected 2D or 3D input"),
        (nn.BatchNorm2d(C), (2, 3, C), "expected 4D input"),
        (nn.BatchNorm1d(C + 1), (2, 3, C), "5"),
    ],
)
def test_wrong_shapes_get_the_sentence_of_torch(norm, shape, message, fast_forms):
    y = torch.randn(shape).movedim(-1, 2)
    with pytest.raises((ValueError, RuntimeError), match=message):
        ops.norm_act(y, None, norm, nn.ReLU())
    assert fast_forms.calls == []


def test_synchronised_norms_keep_the_layout_and_are_left_to_torch(fast_forms):
    y, context, norm = make("signals")
    synced = nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(norm)).eval()
    out = ops.norm_act(y, context, synced, nn.ReLU())
    torch.testing.assert_close(out, ops.norm_act(y, context, norm.eval(), nn.ReLU()))
    assert out.stride() == y.stride()
    assert fast_forms.calls == []
