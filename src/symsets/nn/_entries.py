"""What a layer takes of elements whose entries may be permuted: their channels."""

from torch import Tensor

from symsets.sets import RaggedSets, Sets, pool


def mean_of_entries(x: Sets, channel_axis: int = 1) -> Sets:
    """Average every element over all axes but that of its channels.

    Args:
        x: ``(B, N, C, *E)`` or ragged, also with elements ``(P, C)`` of different sizes.
        channel_axis: Which axis of a batch of elements ``(B, C, *E)`` holds the channels.

    Example:
        >>> import torch
        >>> mean_of_entries(torch.ones(2, 5, 3, 8, 8)).shape
        torch.Size([2, 5, 3])
    """
    if not isinstance(x, RaggedSets):
        return _mean(x, x.ndim - 1, channel_axis)
    if isinstance(x.elements, RaggedSets):
        return x.map(pool, "mean")
    return x.map(_mean, x.elements.ndim, channel_axis)


def _mean(x: Tensor, ndim: int, channel_axis: int) -> Tensor:
    """Average over the entries of elements; a batch of them has ``ndim`` axes."""
    before = x.ndim - ndim  # the batch axis of sets
    channels = channel_axis if channel_axis > 0 else ndim + channel_axis
    if not 0 < channels < ndim:
        raise ValueError(
            f"channel_axis must be one of the axes 1 to {ndim - 1} of (B, *E), got {channel_axis}"
        )
    rest = [before + k for k in range(1, ndim) if k != channels]
    return x.mean(rest) if rest else x
