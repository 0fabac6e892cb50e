"""Attention through a few learned summaries of a set, at a cost linear in its size."""

from typing import Any, Literal

import torch
from torch import Tensor, nn

from symsets._checks import positive
from symsets.nn._attend import attend
from symsets.nn._entries import mean_of_entries
from symsets.nn._explain import check_channels
from symsets.nn._maps import channels, context_args
from symsets.nn.attention import SetAttention
from symsets.sets import RaggedSets, Sets, map_elements, pool


class InducedAttention(SetAttention):
    r"""Let every element choose among a few learned summaries of its set.

    .. math:: L(X)_i = L_1(x_i) + \sum_m \alpha_{im}\, h(z_m), \qquad
        \alpha_{im} = \operatorname{softmax}_m
        \frac{\langle q(x_i), k(z_m) \rangle}{\sqrt{D}}, \qquad
        z_m = \sum_j \operatorname{softmax}_j
        \frac{\langle p_m, \operatorname{mean}_k x_{jk} \rangle}{\sqrt{C}}\, x_j

    Each of the M learned points :math:`p_m` has one number per channel. It looks at the means of
    elements over all axes but the channels, and takes whole elements, so the summaries
    :math:`z_m` move with :math:`H`. Then elements attend to summaries as they do to each other in
    :class:`SetAttention`. The cost grows with :math:`M N`, not with :math:`N^2`, and :math:`h` and
    :math:`k` are applied to the M summaries only. With one point, and that zero, the layer is
    :class:`DSS` with means. :meth:`weights` are ``(B, heads, N, M)``.

    Args:
        element: :math:`L_1`.
        value: :math:`h`; a freshly initialised twin of ``element`` without bias if left out.
        query: :math:`q`; a twin of ``element`` if left out.
        key: :math:`k`; a twin of ``element`` without bias if left out.
        num_points: How many points are learned, M.
        in_channels: Channels of an element; read off ``element`` if left out.
        channel_axis: Which axis of ``(B, *E)`` holds the channels; the last one for linear maps and
            the first one for others if left out.
        heads: The channels of queries, keys and values are split into this many groups, each with
            its own weights.
        compare: How queries and keys are compared, as in :class:`SetAttention`.

    Shape:
        - x: ``(B, N, C, *E)`` or ragged.
        - output: ``(B, N, *F)``, where ``element`` maps ``(B, C, *E)`` to ``(B, *F)``.

    Symmetry:
        Equivariant to :math:`S_N \times H` for :math:`H` that permutes the entries.

    Example:
        >>> layer, x = InducedAttention(nn.Linear(3, 8), num_points=4), torch.randn(2, 1000, 3)
        >>> perm = torch.randperm(1000)
        >>> torch.allclose(layer(x[:, perm]), layer(x)[:, perm], atol=1e-5)
        True

    Reference:
        Lee, Lee, Kim, Kosiorek, Choi, Teh: Set Transformer. ICML 2019 (there ISAB; its residual
        and feed-forward parts are layers of their own here).
    """

    def __init__(
        self,
        element: nn.Module,
        value: nn.Module | None = None,
        query: nn.Module | None = None,
        key: nn.Module | None = None,
        *,
        num_points: int = 8,
        in_channels: int | None = None,
        channel_axis: int | None = None,
        heads: int = 1,
        compare: Literal["element", "summary"] = "element",
    ) -> None:
        super().__init__(element, value, query, key, heads=heads, compare=compare)
        in_channels = channels(element, "in") if in_channels is None else in_channels
        shape = positive("num_points", num_points), positive("in_channels", in_channels)
        like = next(element.parameters(), torch.empty(0))
        self.points = nn.Parameter(torch.empty(shape, dtype=like.dtype, device=like.device))
        if channel_axis is not None:
            self.channel_axis = channel_axis
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the points anew."""
        nn.init.normal_(self.points)

    @property
    def formula(self) -> str:
        return super().formula.replace("_j", "_m").replace("(x_m)", "(z_m)") + (
            f", z_m = Σ_j softmax_j ⟨point_m, mean x_j⟩ x_j, {len(self.points)} points"
        )

    def check_input(self, x: Sets) -> None:
        super().check_input(x)
        check_channels(pool(mean_of_entries(x, self.channel_axis)), self.points.shape[1], self)

    def summaries(self, x: Sets) -> Tensor:
        """Return :math:`z_m`, ``(B, M, C, *E)``."""
        num = x.partition.num_sets if isinstance(x, RaggedSets) else x.shape[0]
        return attend(self.points.expand(num, -1, -1), mean_of_entries(x, self.channel_axis), x)

    def _parts(self, x: Sets, *args: Any) -> tuple[Any, Any, Any]:
        z = self.summaries(x)
        of_sets = context_args(x, args)
        if all(a is b for a, b in zip(of_sets, args, strict=True)):
            key, value = (map_elements(z, part, *args) for part in (self.key, self.value))
        else:  # a graph for each set, the same for all of its summaries
            key, value = (
                torch.stack([part(one, *of_sets) for one in z.unbind(1)], dim=1)
                for part in (self.key, self.value)
            )
        return map_elements(x, self.query, *args), key, value
