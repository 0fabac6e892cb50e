import pytest
import torch
from symsets.models.enlarge import Enlarge
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from symsets.models import enlarge
from symsets.models.unet import UNet, _Join
from symsets.train.ensemble import Ensemble

LAYOUTS = {"contiguous": torch.contiguous_format, "channels last": torch.channels_last}


@pytest.fixture(autouse=True)
def _no_matrices_left():
    enlarge._cached_shares.cache_clear()


def library(scale, align_corners):
    return nn.Upsample(scale_factor=scale, mode="bilinear", align_corners=align_corners)


def pictures(layout="contiguous", *, dtype=torch.float64, shape=(2, 3, 4, 5)):
    x = torch.randn(shape, dtype=dtype).contiguous(memory_format=LAYOUTS[layout])
    return x.requires_grad_()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("scale", [2, 8])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 3, 1, 1), (2, 1, 3, 2), (3, 2, 1, 6)])
def test_values_and_gradients_are_those_of_the_library(shape, scale, align_corners, layout):
    x = pictures(layout, shape=shape)
    ours, theirs = Enlarge(scale, align_corners=align_corners)(x), library(scale, align_corners)(x)
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)
    weights = torch.randn_like(theirs)
    gradients = [torch.autograd.grad((y * weights).sum(), x)[0] for y in (ours, theirs)]
    torch.testing.assert_close(*gradients, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_is_kept(layout):
    x = pictures(layout)
    y = Enlarge(2)(x)
    assert y.is_contiguous(memory_format=LAYOUTS[layout])
    (gradient,) = torch.autograd.grad(y.square().sum(), x)
    assert gradient.is_contiguous(memory_format=LAYOUTS[layout])


def test_other_layouts_are_enlarged_too():
    x = pictures().transpose(2, 3)
    torch.testing.assert_close(Enlarge(2)(x), library(2, False)(x))
    assert Enlarge(2)(torch.randn(0, 3, 4, 4)).shape == (0, 3, 8, 8)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_equals_eager_in_value_and_gradient(backend, layout):
    torch._dynamo.reset()
    module = Enlarge(2, align_corners=True)
    x = pictures(layout)
    found = []
    for run in (module, torch.compile(module, backend=backend), module):
        y = run(x)
        found.append((y, *torch.autograd.grad(y.square().sum(), x)))
    for y, gradient in found[1:]:
        torch.testing.assert_close(y, found[0][0], rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(gradient, found[0][1], rtol=1e-9, atol=1e-9)


def test_a_matrix_made_for_inference_serves_training():
    module, x = Enlarge(2), pictures()
    with torch.inference_mode():
        module(x)
    module(x).sum().backward()
    torch.testing.assert_close(x.grad, torch.full_like(x, 4.0))


def test_matrices_are_made_once_for_each_type():
    module = Enlarge(2)
    for _ in range(3):
        module(pictures(shape=(1, 1, 4, 4)))
        module(pictures(shape=(1, 1, 4, 4), dtype=torch.float32))
    assert enlarge._cached_shares.cache_info().misses == 2


def test_half_precision_stays_half():
    x = pictures(dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        assert Enlarge(2)(x).dtype == torch.bfloat16
    assert Enlarge(2)(x.bfloat16()).dtype == torch.bfloat16


def test_printing_shows_the_factor():
    assert repr(Enlarge(8)) == "Enlarge(8)"
    assert repr(Enlarge(2, align_corners=True)) == "Enlarge(2, align_corners=True)"


def sets(num=3, layout="contiguous", size=64, dtype=torch.float64):
    x = torch.randn(2 * num, 3, size, size, dtype=dtype)
    return x.contiguous(memory_format=LAYOUTS[layout]).unflatten(0, (2, num))


def test_what_was_one_pixel_takes_the_layout_of_its_partner():
    small, skip = sets(size=1), sets(size=8, layout="channels last")
    joined = _Join(8, align_corners=False)(small, skip).flatten(0, 1)
    assert joined.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(joined[:, 3:], skip.flatten(0, 1))
    torch.testing.assert_close(joined[:, :3], small.flatten(0, 1).expand(6, 3, 8, 8))
    plain = _Join(8, align_corners=False)(small, skip.contiguous()).flatten(0, 1)
    assert plain.is_contiguous()
    assert torch.equal(plain, joined)


@pytest.mark.parametrize("task", ["transform", "merge"])
@pytest.mark.parametrize("recipe", ["ours", "published"])
def test_networks_do_not_mind_the_layout(recipe, task):
    net = UNet("dss-sum", recipe=recipe, widths=(4, 4, 8, 8), task=task, num_elements=3).double()
    lasting = UNet(**net.arguments).double()
    lasting.load_state_dict(net.state_dict())
    lasting.to(memory_format=torch.channels_last)
    found = []
    for one, layout in ((net, "contiguous"), (net, "channels last"), (lasting, "channels last")):
        torch.manual_seed(0)
        one.zero_grad()
        out = one(sets(layout=layout))
        out.square().mean().backward()
        found.append([out, *(p.grad for p in one.parameters())])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-7, atol=1e-9)


def test_every_block_of_a_network_keeps_the_layout():
    net = UNet("dss-sum", widths=(4, 4, 8, 8), num_elements=3)
    net = net.to(memory_format=torch.channels_last)
    seen = []

    def note(module, inputs, output):
        if isinstance(output, torch.Tensor) and output.dim() == 4 and output.shape[-1] > 1:
            seen.append(output.is_contiguous(memory_format=torch.channels_last))

    for module in net.modules():
        if isinstance(module, nn.Conv2d | nn.BatchNorm2d | Enlarge):
            module.register_forward_hook(note)
    net(sets(layout="channels last", dtype=torch.float32))
    # all but the enlarged pixel, which is turned afterwards
    assert len(seen) > 30
    assert seen.count(False) <= 1


@pytest.mark.parametrize("task", ["transform", "merge"])
def test_float16_has_digits_enough_for_pictures(task):
    torch.manual_seed(0)
    net = UNet("dss-sum", widths=(4, 4, 8, 8), task=task, num_elements=3)
    x, seen = sets(dtype=torch.float32), []
    exact = net(x)
    conv = net.head[0].element if task == "transform" else net.head.element[0]
    conv.register_forward_hook(lambda module, i, out: seen.append(out.dtype))
    errors = {}
    for dtype in (torch.float16, torch.bfloat16):
        with torch.autocast("cpu", dtype):
            half = net(x)
        assert half.dtype == torch.float32
        errors[dtype] = (half - exact).norm() / exact.norm()
    assert seen == [torch.float16, torch.float32]
    assert errors[torch.float16] < 0.3 * errors[torch.bfloat16]


@pytest.mark.parametrize("task", ["transform", "merge"])
def test_outputs_have_full_precision_under_autocast(task):
    torch.manual_seed(0)
    net = UNet("dss-sum", widths=(4, 4, 8, 8), task=task, num_elements=3)
    x = sets(dtype=torch.float32)
    exact = net(x)
    seen = []
    net.encoder[1].register_forward_hook(lambda module, i, out: seen.append(out.dtype))
    with torch.autocast("cpu", torch.bfloat16):
        half = net(x)
    assert half.dtype == torch.float32
    assert seen == [torch.bfloat16]
    # The head did not round: more values than the 256 of 8 digits in an octave.
    assert not torch.equal(half, half.bfloat16().float())
    assert (half - exact).norm() < 0.1 * exact.norm()
    half.sum().backward()
    assert all(p.grad.dtype == torch.float32 for p in net.parameters())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("recipe", ["ours", "published"])
def test_several_networks_run_as_one(recipe, layout):
    nets = [
        UNet("dss-sum", recipe=recipe, widths=(2, 2, 4, 4), num_elements=2)
        .double()
        .to(memory_format=LAYOUTS[layout])
        for _ in range(2)
    ]
    x = torch.stack([sets(2), sets(2)])
    ensemble = Ensemble(nets)
    together = ensemble(x)
    together.square().mean((1, 2, 3, 4, 5)).sum().backward()
    for k, net in enumerate(nets):
        alone = net(x[k])
        alone.square().mean().backward()
        torch.testing.assert_close(together[k], alone, rtol=1e-9, atol=1e-9)
        for name, p in net.named_parameters():
            grad = ensemble.stacked.get_parameter(name).grad[k]
            torch.testing.assert_close(grad, p.grad, rtol=1e-7, atol=1e-9)


def test_matrices_of_traced_pictures_are_not_kept():
    with FakeTensorMode():
        Enlarge(2)(torch.empty(1, 3, 4, 5))
    assert type(Enlarge(2)(torch.ones(1, 3, 4, 5))) is torch.Tensor


def test_no_matrix_leaves_its_place_for_others():
    module, x = Enlarge(2), torch.randn(1, 1, 3, 3)
    first = module._matrix(3, x)
    for length in range(1, 100):
        module._matrix(length, x)
    assert module._matrix(3, x) is first  # a captured CUDA graph may still read it
