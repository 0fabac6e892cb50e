"""Networks that classify networks by their weights."""

from collections.abc import Callable, Sequence

from torch import Tensor, nn

from symsets._checks import check_choice
from symsets.experiments.weights.action import Acting
from symsets.experiments.weights.baselines import deep_sets, dws, mlp, mlp_reordered
from symsets.experiments.weights.space import WIDTHS, WeightSpace
from symsets.models.registry import RegisteredNetwork, register_network

MODELS: dict[str, tuple[Callable[[WeightSpace, int, int], nn.Module], int]] = {  # and channels
    "acting": (Acting, 64),
    "dws": (dws, 16),
    "deepsets": (deep_sets, 16),
    "mlp": (mlp, 64),
    "mlp-reordered": (mlp_reordered, 64),
}


@register_network("weights")
class WeightNetwork(RegisteredNetwork):
    r"""Classify what a network represents, given nothing but its weights.

    Args:
        model: ``"acting"``, ``"dws"``, ``"deepsets"``, ``"mlp"`` or ``"mlp-reordered"``.
        widths: Of the represented networks: inputs, neurons of each hidden layer, outputs.
        num_classes: Of what they represent.
        channels: Of the layers; those of :data:`MODELS` if left out.

    Shape:
        - x: ``(B, 1, D)``, vectors of a :class:`WeightSpace`.
        - output: ``(B, num_classes)``

    Symmetry:
        Invariant to reordering the neurons of hidden layers, but for the two MLPs.

    Example:
        >>> import torch
        >>> net = WeightNetwork("acting").eval()
        >>> space, x = WeightSpace(WIDTHS), torch.randn(2, 1, 1185)
        >>> moved = space.reorder(x, space.random_orders(x))
        >>> torch.allclose(net(moved), net(x), atol=1e-4)
        True

    Reference:
        Navon, Shamsian, Achituve, Fetaya, Chechik, Maron: Equivariant Architectures for Learning
        in Deep Weight Spaces. ICML 2023.
    """

    def __init__(
        self,
        model: str,
        *,
        widths: Sequence[int] = WIDTHS,
        num_classes: int = 10,
        channels: int | None = None,
    ) -> None:
        super().__init__()
        check_choice("model", model, list(MODELS))
        make, usual = MODELS[model]
        channels = usual if channels is None else channels
        self.keep("channels", channels)
        self.space = WeightSpace(widths)
        self.net = make(self.space, num_classes, channels)

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[1:] != (1, self.space.size):
            raise ValueError(f"x must have shape (B, 1, {self.space.size}), got {tuple(x.shape)}")
        return self.net(x)
