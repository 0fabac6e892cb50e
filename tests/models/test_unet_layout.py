"""U-Nets in either memory layout, and in half precision."""

import pytest
import torch
from torch import nn

from symsets.models.unet import UNet, _Join
from symsets.train.ensemble import Ensemble

LAYOUTS = {"contiguous": torch.contiguous_format, "channels last": torch.channels_last}


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
        rows = output.flatten(0, 1) if output.dim() == 5 else output  # of sets, or of elements
        if rows.dim() == 4 and rows.shape[-1] > 1:
            seen.append(rows.is_contiguous(memory_format=torch.channels_last))

    for module in net.modules():
        if isinstance(module, nn.Conv2d | nn.BatchNorm2d | _Join):
            module.register_forward_hook(note)
    net(sets(layout="channels last", dtype=torch.float32))
    assert len(seen) > 30
    assert all(seen)


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
