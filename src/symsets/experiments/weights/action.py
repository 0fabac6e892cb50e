"""Weights that act on features of neurons: a layer, and a network of such layers."""

import torch
from torch import Tensor, nn

from symsets._checks import positive
from symsets.experiments.weights.space import WeightSpace

DROPOUT = 0.2


class WeightAction(nn.Module):
    r"""Let the weights of a layer act on features of its neurons, as they do in their network.

    .. math:: y_b = A \sum_{a=1}^{n} \frac{W_{ab}}{\sqrt n} h_a + \beta c_b

    where the represented layer has the weights :math:`W` and the bias :math:`c`, and neuron
    :math:`a` has the features :math:`h_a`; :math:`A` and :math:`\beta` are learned. In the
    represented network one number stands in the place of :math:`h_a`, and :math:`A = \beta = 1`.
    The map is a product of weights with features that come from other weights, so no layer that is
    linear in the weights contains it. Its parameters do not depend on the numbers of neurons.

    Args:
        in_channels: Features of a neuron.
        out_channels: Features of a neuron of the next layer.

    Shape:
        - h: ``(B, n, in_channels)``
        - weight: ``(B, n, m)``
        - bias: ``(B, m)``
        - output: ``(B, m, out_channels)``

    Symmetry:
        Equivariant to :math:`S_n \times S_m`, reordering neurons: invariant to :math:`S_n`, and
        reordering the columns of W and the entries of c reorders the output. The same holds for
        sign flips of neurons.

    Example:
        >>> layer = WeightAction(3, 8)
        >>> h, weight, bias = torch.randn(2, 5, 3), torch.randn(2, 5, 4), torch.randn(2, 4)
        >>> a, b = torch.randperm(5), torch.randperm(4)
        >>> moved = layer(h[:, a], weight[:, a][:, :, b], bias[:, b])
        >>> torch.allclose(moved, layer(h, weight, bias)[:, b], atol=1e-5)
        True
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.in_channels = positive("in_channels", in_channels)
        self.out_channels = positive("out_channels", out_channels)
        self.mix = nn.Parameter(torch.empty(in_channels, out_channels))  # A
        self.bias = nn.Parameter(torch.empty(out_channels))  # β
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights, at unit scale."""
        nn.init.normal_(self.mix, std=self.in_channels**-0.5)
        nn.init.normal_(self.bias)

    def forward(self, h: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        acted = weight.mT @ h / h.shape[1] ** 0.5  # (B, m, C)
        return acted @ self.mix + bias.unsqueeze(-1) * self.bias

    def extra_repr(self) -> str:
        return f"{self.in_channels} → {self.out_channels}, A Σ_a W_ab h_a / √n + β c_b"


def classifier(in_channels: int, hidden: int, num_classes: int) -> nn.Sequential:
    """Return the MLP that ends all networks: normalise, then two layers with dropout."""
    return nn.Sequential(
        nn.LayerNorm(in_channels),
        nn.Dropout(DROPOUT),
        nn.Linear(in_channels, hidden),
        nn.GELU(),
        nn.Dropout(DROPOUT),
        nn.Linear(hidden, num_classes),
    )


class Acting(nn.Module):
    r"""Let the weights act on learned features, layer by layer, as in the network they come from.

    .. math:: h^{k} = \sin\bigl(\operatorname{action}_k(h^{k-1}, W^k, c^k)\bigr)

    with a :class:`WeightAction` for each layer, and a one for each input as the first features.
    An MLP reads what arrives at the outputs, and the mean of the squared features of the last
    hidden layer. All maps but the last are odd, so signs of neurons say nothing, either.

    Symmetry:
        Invariant to reordering the neurons of hidden layers, and to sign flips: a hidden neuron
        of a sine network computes the negative if its weights and bias do, and the weights that
        read it undo that.
    """

    def __init__(self, space: WeightSpace, num_classes: int, channels: int) -> None:
        super().__init__()
        self.space = space
        inputs, *_, outputs = space.widths
        widths = [inputs, *[channels] * len(space.shapes)]
        self.actions = nn.ModuleList(map(WeightAction, widths[:-1], widths[1:]))
        self.head = classifier((outputs + 1) * channels, 2 * channels, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        weights, biases = self.space.split(x.squeeze(1))
        *hidden, last = zip(self.actions, weights, biases, strict=True)
        inputs = self.space.widths[0]
        h = torch.eye(inputs, dtype=x.dtype, device=x.device).expand(len(x), -1, -1)
        for action, weight, bias in hidden:
            h = action(h, weight, bias).sin()  # (B, n, C)
        action, weight, bias = last
        drawn = action(h, weight, bias)  # (B, outputs, C)
        return self.head(torch.cat([drawn.flatten(1), h.square().mean(1)], dim=1))
