import pytest
import torch
from torch import nn

from symsets import DSS, RaggedSets, Sequential, Siamese
from symsets.nn import Classify, Residual, SetNorm
from symsets.testing import equivariance_error


def block():
    return Residual(SetNorm(4), nn.ReLU(), DSS(nn.Linear(4, 4), pool="mean"))


def test_it_adds_what_its_layers_make_dense_and_ragged():
    made, x = block(), torch.randn(2, 5, 4)
    expected = x + Sequential(*made)(x)
    torch.testing.assert_close(made(x), expected)
    ragged = RaggedSets(x.flatten(0, 1)[:8], [5, 0, 3])
    torch.testing.assert_close(made(ragged)[0], expected[0])
    for sets in (x, ragged):
        assert equivariance_error(made, sets, task="transform") < 1e-9


def test_sets_of_clouds_have_residual_blocks_too():
    clouds = RaggedSets.from_list([[torch.randn(5, 3), torch.randn(7, 3)], [torch.randn(4, 3)]])
    linear = nn.Linear(3, 3)
    out = Residual(Siamese(Siamese(linear)))(clouds)
    points = clouds.elements.elements
    torch.testing.assert_close(out.elements.elements, points + linear(points))


def test_the_path_of_x_is_clean():
    deep = Sequential(*(block() for _ in range(50)))
    for part in deep.modules():
        if isinstance(part, nn.Linear):
            nn.init.zeros_(part.weight)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
    x = torch.randn(2, 5, 4)
    assert torch.equal(deep(x), x)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Residual(nn.ReLU(inplace=True), nn.Linear(4, 4)),
            "the first of modules must not change its input in place",
        ),
        (lambda: Residual(Classify(4, 4)), "modules must return sets .* got Classify"),
        (
            lambda: Residual(nn.Linear(4, 1))(torch.zeros(2, 5, 4)),
            r"modules must keep the shape of elements, got \(1,\) from \(4,\)",
        ),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("first", [nn.Identity(), nn.Dropout(0.5), nn.Flatten(2)])
def test_what_returns_its_input_hides_no_change_in_place(first):
    with pytest.raises(ValueError, match="first of modules must not change its input in place"):
        Residual(first, nn.ReLU(inplace=True), nn.Linear(4, 4))
    with pytest.raises(ValueError, match="first of modules must not change its input in place"):
        Residual(nn.Sequential(first, nn.ReLU(inplace=True)), nn.Linear(4, 4))
    Residual(nn.Linear(4, 4), nn.ReLU(inplace=True))
