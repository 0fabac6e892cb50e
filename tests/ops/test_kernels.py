"""Kernels are used only where they can be, and where they give the numbers of torch."""

import copy
import os
import subprocess
import sys
from importlib.util import find_spec
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from symsets import ops
from symsets._modes import allow_tf32
from symsets.ops import triton

SUBJECTS = ["add_bias", "channel_norm", "gate", "max_pool", "norm_act", "set_max", "spmm"]
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"  # on a CPU, without bfloat16
DEVICE = "cpu" if INTERPRETED else "cuda"
TYPES = [torch.float32, torch.float16] + ([] if INTERPRETED else [torch.bfloat16])
BOUNDS = {torch.float32: 1e-4, torch.bfloat16: 1e-1, torch.float16: 1e-1}


@pytest.fixture
def untried(monkeypatch):
    """Forget what was tried."""
    monkeypatch.setattr(triton, "_tried", {})


@pytest.mark.parametrize("subject", SUBJECTS)
def test_torch_takes_over_without_triton(subject, untried, monkeypatch):
    monkeypatch.setitem(sys.modules, f"symsets.ops.triton.{subject}", None)  # cannot be imported
    assert triton.kernels(subject) is None


def fails():
    raise RuntimeError("no compiler")


@pytest.mark.parametrize(
    ("trial", "why"),
    [(fails, "no compiler"), (lambda: [(torch.ones(2), torch.zeros(2))], "not close")],
)
def test_kernels_that_fail_or_err_are_not_passed_over_in_silence(trial, why, untried, monkeypatch):
    broken = SimpleNamespace(trial=trial, INSTEAD="norms are torch's own")
    monkeypatch.setattr(triton, "import_module", lambda name: broken)
    with pytest.warns(UserWarning, match=f"(?s)norms are torch's own, for triton failed: .*{why}"):
        assert triton.kernels("norm_act") is None
    assert triton.kernels("norm_act") is None  # and says so once


def test_kernels_are_tried_once_outside_the_modes_of_the_caller(untried, monkeypatch):
    calls = []

    def trial():
        x = torch.ones(2, requires_grad=True)
        calls.append(torch.autograd.grad(x.sum(), x)[0])
        return [(calls[-1], torch.ones(2))]

    right = SimpleNamespace(trial=trial)
    monkeypatch.setattr(triton, "import_module", lambda name: right)
    with torch.inference_mode():
        assert triton.kernels("norm_act") is right
    assert triton.kernels("norm_act") is right
    assert len(calls) == 1


def test_no_trial_interrupts_the_capture_of_a_graph(untried, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    right = SimpleNamespace(trial=list)
    monkeypatch.setattr(triton, "import_module", lambda name: right)
    assert triton.kernels("norm_act") is None
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    assert triton.kernels("norm_act") is right


@pytest.mark.slow
@pytest.mark.skipif(find_spec("triton") is None, reason="needs triton")
def test_kernels_agree_with_float64_in_the_interpreter():
    """Triton interprets kernels on a CPU, too, if it is told so before it is imported."""
    script = """
from contextlib import nullcontext
from importlib import import_module
import sys, pytest, torch
torch.cuda.device_of = lambda x: nullcontext()  # that of torch needs a build for GPUs
for subject in sys.argv[2:]:
    for ours, torchs in import_module(f"symsets.ops.triton.{subject}").trial("cpu"):
        torch.testing.assert_close(ours, torchs, rtol=1e-3, atol=1e-3)
# numpy warns where kernels divide by zero on purpose
sys.exit(pytest.main(["-q", "-m", "gpu", "-W", "ignore::RuntimeWarning", sys.argv[1]]))
"""
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, "-c", script, __file__, *SUBJECTS]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{2 * len(CASES) + 3} passed" in done.stdout  # float32 and float16


# On a GPU or in the interpreter, through the functions that people call


def on_device(test):
    absent = not (INTERPRETED or torch.cuda.is_available())
    test = pytest.mark.gpu(pytest.mark.skipif(absent, reason="needs a GPU")(test))
    return pytest.mark.usefixtures("interpreted_kernels")(test) if INTERPRETED else test


def normalised(kind, act, tells, channels=24):
    """Return a function of sets that lie as networks have them, and a sample."""
    norm = {"images": nn.BatchNorm2d, "signals": nn.BatchNorm1d, "vectors": nn.BatchNorm1d}[kind]
    sizes = {"images": (9, 11), "signals": (37,), "vectors": ()}[kind]
    norm = norm(channels)
    nn.init.normal_(norm.weight, 1)
    nn.init.normal_(norm.bias)
    if kind == "signals":  # entries first
        y, told = torch.randn(*sizes, 6, 5, channels), torch.randn(*sizes, 6, channels)
        y, told = y.movedim(0, -1), told.movedim(0, -1)
    else:
        y = torch.randn(6, 5, *sizes, channels).movedim(-1, 2)
        told = torch.randn(6, *sizes, channels).movedim(-1, 1)

    def run(y, *context):
        own = copy.deepcopy(norm).to(y.device)
        own = own.double() if y.dtype == torch.float64 else own
        out = ops.norm_act(y, context[0] if context else None, own, act)
        running = torch.cat([own.running_mean, own.running_var]).to(out.dtype)
        return out, running, *own.parameters()

    return run, (y + 3, told) if tells else (y + 3,)


def single(fn, x):
    return (lambda *inputs: (fn(*inputs),)), (x,)


def pooled(window, height, width, channels):
    x = torch.randn(2, height, width, channels).movedim(-1, 1)
    return single(lambda x: ops.max_pool(x, window), x)


def multiplied():
    row, column = torch.randint(0, 60, (2, 400)).sort(1).values
    matrix = ops.SparseMatrix.from_entries(row, column.flip(0), torch.randn(400), 60)
    return single(lambda x: matrix.map(lambda t: t.to(x.device)) @ x, torch.randn(60, 700))


CASES = {
    **{
        f"norm_act {kind} {name} {'context' if tells else ''}": (
            lambda kind=kind, act=act, tells=tells: normalised(kind, act, tells)
        )
        for kind in ("images", "signals", "vectors")
        for name, act in {"none": nn.Identity(), "elu": nn.ELU(0.7)}.items()
        for tells in (True, False)
    },
    "norm_act of many channels": lambda: normalised("images", nn.ELU(), True, 152),
    "set_max images": lambda: single(ops.set_max, torch.randn(3, 4, 8, 9, 10).movedim(-1, 2)),
    "set_max vectors": lambda: single(ops.set_max, torch.randn(3, 4, 3000)),
    "max_pool": lambda: pooled(2, 8, 6, 48),
    "max_pool of what windows do not cover": lambda: pooled(5, 11, 14, 5),
    "channel_norm": lambda: single(
        lambda x: ops.channel_norm(x, 1e-3), torch.randn(3, 7, 9, 48).movedim(-1, 1) + 2
    ),
    "add_bias": lambda: (
        (lambda x, bias: (ops.add_bias(x, bias),)),
        (torch.randn(3, 70, 90, 30).movedim(-1, 1), torch.randn(30)),
    ),
    "gate": lambda: single(ops.gate, torch.randn(3, 7, 9, 30).movedim(-1, 1)),
    "gate of a sum": lambda: (
        (lambda x, context: (ops.gate(x, context),)),
        (torch.randn(6, 17, 19, 30).movedim(-1, 1), torch.randn(2, 17, 19, 30).movedim(-1, 1)),
    ),
    "spmm": multiplied,
}


def outcome(run, inputs):
    inputs = [t.detach().requires_grad_() for t in inputs]
    y, *rest = run(*inputs)
    weight = torch.linspace(-1, 1, y.numel(), device=y.device).view(y.shape).to(y.dtype)
    own = [t for t in rest if t.requires_grad]
    grads = torch.autograd.grad((y * weight).sum(), [*inputs, *own])
    return [t.detach() for t in (y, *grads, *rest)]


@on_device
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("case", CASES)
def test_kernels_agree_with_float64_and_repeat_themselves(case, dtype):
    assert triton.kernels(case.split()[0]) is not None
    run, inputs = CASES[case]()
    inputs = [t.to(DEVICE, dtype) for t in inputs]
    ours, again = outcome(run, inputs), outcome(run, inputs)
    with ops.plain():
        exact = outcome(run, [t.double() for t in inputs])
    for a, b, c in zip(ours, again, exact, strict=True):
        assert torch.equal(a, b)
        assert (a.double() - c.double()).norm() <= BOUNDS[dtype] * max(c.double().norm(), 1e-3)


@on_device
@pytest.mark.parametrize("dtype", TYPES)
def test_maxima_know_ties_and_what_is_not_a_number(dtype):
    sets = torch.randint(-2, 3, (3, 4, 70), device=DEVICE).to(dtype)
    pixels = torch.randint(-3, 4, (2, 7, 9, 5), device=DEVICE).to(dtype).movedim(-1, 1)
    for run, x in ((ops.set_max, sets), (lambda x: ops.max_pool(x, 2), pixels)):
        x[(0,) * x.ndim] = torch.nan
        fast = outcome(lambda x, run=run: (run(x),), [x])
        with ops.plain():
            plain = outcome(lambda x, run=run: (run(x),), [x])
        torch.testing.assert_close(fast, plain, equal_nan=True, rtol=1e-2, atol=1e-2)


@on_device
def test_a_small_variance_beside_a_large_mean_keeps_its_digits():
    run, (y, *_) = normalised("images", nn.ELU(), False, 48)  # a kink would jump
    y = (y + 1000).to(DEVICE)
    ours = outcome(run, [y])
    with ops.plain():
        exact = outcome(run, [y.double()])
    for a, c in zip(ours, exact, strict=True):
        assert (a.double() - c.double()).norm() <= 2e-4 * c.double().norm()


def filled(x):
    own = torch.linspace(-1, 1, 5 * 3 * 9, dtype=x.dtype, device=x.device)
    return ops.conv2d(x, own.sin().view(5, 3, 3, 3), None, (1, 1), (1, 1))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize(("tf32", "bound"), [(False, 1e-4), (True, 3e-2)])
@pytest.mark.parametrize("run", [filled, lambda x: ops.enlarge(x, 2)], ids=["conv2d", "enlarge"])
def test_other_fast_forms_agree_with_float64(run, tf32, bound):
    x = torch.randn(4, 3, 16, 12, device="cuda").to(memory_format=torch.channels_last)
    with allow_tf32(products=tf32, convolutions=tf32):
        ours = outcome(lambda x: (run(x),), [x])
    with ops.plain():
        exact = outcome(lambda x: (run(x),), [x.double()])
    for a, c in zip(ours, exact, strict=True):
        assert (a.double() - c).norm() <= bound * c.norm()
