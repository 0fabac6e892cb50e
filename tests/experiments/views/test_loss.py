import pytest
import torch

from symsets import RaggedSets
from symsets.experiments.views.loss import views_loss

F64 = torch.float64


def make_target():
    target = torch.rand(2, 3, 7, 8, 8, dtype=F64)
    target[:, :, 0] = (target[:, :, 0] > 0.7).double()
    return target


def test_loss_is_what_a_loop_over_pixels_says():
    output, target = torch.randn(2, 3, 7, 8, 8, dtype=F64), make_target()
    entropy, errors = [], []
    for b, n, i, j in torch.cartesian_prod(*map(torch.arange, (2, 3, 8, 8))).tolist():
        found, truth = output[b, n, :, i, j], target[b, n, :, i, j]
        p = found[0].sigmoid()
        entropy.append(-(truth[0] * p.log() + (1 - truth[0]) * (1 - p).log()))
        if truth[0]:
            errors.append((found[1:] - truth[1:]).abs().mean())
    expected = 0.3 * torch.stack(entropy).mean() + torch.stack(errors).mean()
    found = views_loss(output, target)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


def test_coordinates_outside_the_mask_cost_nothing():
    output, target = torch.randn(2, 3, 7, 8, 8, dtype=F64), make_target()
    other = output.clone()
    outside = (target[:, :, :1] == 0).expand(-1, -1, 6, -1, -1)
    other[:, :, 1:][outside] = 99
    assert views_loss(other, target) == views_loss(output, target)
    ragged = RaggedSets(output.flatten(0, 1), [4, 2]), RaggedSets(target.flatten(0, 1), [4, 2])
    torch.testing.assert_close(views_loss(*ragged), views_loss(output, target))


def test_gradients_are_finite_where_nothing_is_wrong():
    target = make_target()
    output = target.clone().requires_grad_()
    views_loss(output, target).backward()
    assert output.grad.isfinite().all()


def test_the_loss_of_an_empty_mask_and_of_half_precision_is_finite():
    output = torch.randn(1, 2, 7, 4, 4, requires_grad=True)
    loss = views_loss(output, torch.zeros(1, 2, 7, 4, 4))
    loss.backward()
    assert output.grad.isfinite().all()
    assert views_loss(output.bfloat16(), torch.zeros(1, 2, 7, 4, 4)).dtype == torch.float32


def test_bad_input_gets_a_sentence():
    message = r"output and target must have one shape, got rows of \(\(2, 7, 4, 4\), \(2, 6"
    with pytest.raises(ValueError, match=message):
        views_loss(torch.zeros(1, 2, 7, 4, 4), torch.zeros(1, 2, 6, 4, 4))
