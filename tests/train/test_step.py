"""Training steps of ensembles, eager and captured."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from symsets.experiments.colors.sets import ColorSets
from symsets.experiments.signals.network import SignalNetwork
from symsets.experiments.signals.sets import Signals
from symsets.nn import NormAct
from symsets.train import Ensemble
from symsets.train.step import PRECISIONS, CapturedSteps, EagerSteps, LossScale, matmul_precision

SIGNALS = Signals(num_elements=5, length=16)


def network(seed):
    torch.manual_seed(seed)
    return SignalNetwork("dss-sum", widths=(6, 6, 4), num_elements=5, length=16)


@pytest.fixture(scope="module")
def data():
    return SIGNALS.make("train", 200).to("cpu", torch.float64)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_only_tf32_rounds_products_and_half_precision_rounds_convolutions(precision):
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    with matmul_precision(precision):
        assert (torch.get_float32_matmul_precision() == "high") == (precision == "tf32")
        assert torch.backends.cudnn.allow_tf32 == (precision in ("tf32", "bfloat16", "float16"))
    assert (torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32) == before


def test_settings_in_the_newer_way_of_torch_are_kept():
    matmul, conv = torch.backends.cuda.matmul, getattr(torch.backends.cudnn, "conv", None)
    if not hasattr(matmul, "fp32_precision") or conv is None:
        pytest.skip("this torch has the older way alone")
    older = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    matmul.fp32_precision, conv.fp32_precision = "tf32", "ieee"
    try:
        for precision in ("float32", "tf32", "float16"):
            with matmul_precision(precision):
                assert (torch.get_float32_matmul_precision() == "high") == (precision == "tf32")
                assert torch.backends.cudnn.allow_tf32 == (precision != "float32")
            assert matmul.fp32_precision == "tf32"
            assert conv.fp32_precision != "tf32"
    finally:
        torch.set_float32_matmul_precision(older[0])
        torch.backends.cudnn.allow_tf32 = older[1]


def test_clipping_shortens_each_member_on_its_own(data):
    nets = [network(seed).double() for seed in (0, 1)]
    which = torch.arange(16).expand(2, 16)
    gradients = {}
    for clip in (0.0, 0.05):
        ensemble = Ensemble(nets)
        optimiser = torch.optim.SGD(ensemble.parameters(), lr=0.0)
        EagerSteps(ensemble, optimiser, data, cross_entropy, clip=clip).step(which)
        gradients[clip] = torch.cat([p.grad.flatten(1) for p in ensemble.parameters()], dim=1)
    lengths = gradients[0.0].norm(dim=1)
    assert (lengths > 0.05).all()
    assert lengths[0] != lengths[1]
    torch.testing.assert_close(gradients[0.05], 0.05 * gradients[0.0] / lengths[:, None])


@pytest.mark.parametrize("clip", [0.0, 0.05])
def test_a_scale_leaves_gradients_as_they_are(data, clip):
    gradients = []
    for scale in (None, LossScale(2)):
        ensemble = Ensemble([network(seed).double() for seed in (0, 1)])
        optimiser = torch.optim.SGD(ensemble.parameters(), lr=0.0)
        steps = EagerSteps(ensemble, optimiser, data, cross_entropy, clip=clip, scale=scale)
        losses = steps.step(torch.arange(16).expand(2, 16))
        gradients.append([losses, *(p.grad for p in ensemble.parameters())])
    for a, b in zip(*gradients, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("clip", [0.0, 0.05])
@pytest.mark.parametrize("wrong", [torch.inf, torch.nan])
def test_an_overflow_costs_one_member_one_step_and_half_its_scale(data, clip, wrong):
    ensemble, scale = Ensemble([network(seed) for seed in (0, 1)]), LossScale(2)
    before = [p.detach().clone() for p in ensemble.parameters()]
    optimiser = torch.optim.AdamW(ensemble.parameters(), lr=0.1, weight_decay=0.0)

    def overflow(gradient):
        gradient = gradient.clone()
        gradient[1].view(-1)[0] = wrong
        return gradient

    next(ensemble.parameters()).register_hook(overflow)
    data = data.to("cpu", torch.float32)
    steps = EagerSteps(ensemble, optimiser, data, cross_entropy, clip=clip, scale=scale)
    steps.step(torch.arange(16).expand(2, 16))
    assert (scale.value / 2.0**16).tolist() == [1.0, 0.5]
    pairs = list(zip(ensemble.parameters(), before, strict=True))
    assert not all(torch.equal(p[0], b[0]) for p, b in pairs)
    assert all(torch.equal(p[1], b[1]) for p, b in pairs)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize(
    ("precision", "bound"),
    [("float32", 1e-4), ("tf32", 3e-2), ("bfloat16", 1e-1), ("float16", 3e-2)],
)
@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.filterwarnings("ignore:.*only nearly equivariant")
def test_captured_steps_have_the_gradients_of_float64(precision, bound, size):
    data = Signals().make("train", 256, "cuda")
    nets = [SignalNetwork("dss-sum").cuda() for _ in range(size)]
    layers = [part for net in nets for part in net.modules() if isinstance(part, NormAct)]
    assert layers
    for layer in layers:
        layer.act = torch.nn.ELU()  # a kink would make finite differences
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    exact = Ensemble(nets).double().cuda()
    double = data.to("cuda", torch.float64)
    ensemble = Ensemble(nets).cuda()
    rate = torch.tensor(0.0, device="cuda")
    optimiser = torch.optim.AdamW(ensemble.parameters(), lr=rate, fused=True, capturable=True)
    order = torch.randint(256, (1, size, 64), device="cuda").expand(5, size, 64)
    scale = LossScale(size).cuda() if precision == "float16" else None
    steps = CapturedSteps(ensemble, optimiser, data, cross_entropy, precision, scale=scale)
    steps.run(order, torch.zeros(5))  # three eager steps, then two of the graph
    plain = EagerSteps(exact, optimiser, double, cross_entropy)
    plain.losses(*double.batch(order[0])).sum().backward()
    scale = max(p.grad.norm() for p in exact.parameters())
    for p, q in zip(ensemble.parameters(), exact.parameters(), strict=True):
        error = (p.grad.double() - q.grad).norm() / max(q.grad.norm(), 1e-2 * scale)
        assert error < bound


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_captured_steps_draw_the_same_random_sets_whenever_they_are_captured():
    """A run that continues takes eager steps where one that never stopped replays its graph."""
    images = torch.randint(256, (8, 3, 80, 80), dtype=torch.uint8, device="cuda")
    colors = ColorSets(images, 8)
    order = torch.randint(8, (3, 1, 4), device="cuda")
    rates = torch.zeros(3, device="cuda")

    def losses(*, captured_before):
        torch.manual_seed(0)
        ensemble = Ensemble([torch.nn.Conv3d(6, 6, 1)]).cuda()
        rate = torch.tensor(0.0, device="cuda")
        optimiser = torch.optim.AdamW(ensemble.parameters(), lr=rate, fused=True, capturable=True)
        steps = CapturedSteps(ensemble, optimiser, colors, torch.nn.functional.l1_loss)
        if captured_before:
            steps.run(order, rates)
        torch.manual_seed(1)
        return steps.run(order, rates)

    torch.testing.assert_close(losses(captured_before=True), losses(captured_before=False))


def test_scales_grow_again_and_stay_within_bounds():
    scale = LossScale(1, patience=3)
    good, bad = torch.tensor([True]), torch.tensor([False])
    seen = []
    for finite in (bad, good, good, bad, good, good, good, good):
        scale.update(finite)
        seen.append(scale.value.item() / 2**16)
    assert seen == [0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.5, 0.5]
    for _ in range(100):
        scale.update(bad)
    assert scale.value.item() == 2**-10
