"""Circular convolutions with kernels of any size, for signals and images that wrap around."""

import math
import warnings
from collections.abc import Sequence
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from symsets._checks import check_choice, positive
from symsets.nn._explain import explained
from symsets.nn.base import ElementMap
from symsets.ops import circular_conv

Method = Literal["auto", "direct", "spectral"]


class SymmetryWarning(UserWarning):
    """Say that a layer is used where the symmetry it promises does not hold exactly."""


class _CircularConv(ElementMap):
    """All that the layers for one and two axes do."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        *,
        stride: int | Sequence[int] = 1,
        bias: bool = True,
        method: Method = "auto",
    ) -> None:
        super().__init__(in_channels, out_channels)
        check_choice("method", method, get_args(Method))
        self.kernel_size = self._per_axis("kernel_size", kernel_size)
        self.stride = self._per_axis("stride", stride)
        self.method = method
        self.weight = nn.Parameter(torch.empty(out_channels, in_channels, *self.kernel_size))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self._warned = False
        self.reset_parameters()

    def _per_axis(self, name: str, value: int | Sequence[int]) -> tuple[int, ...]:
        sizes = tuple(value) if isinstance(value, Sequence) else (value,) * len(self.axes)
        if len(sizes) != len(self.axes):
            raise ValueError(
                f"{name} must be an integer or one for each of {list(self.axes)}, got {value}"
            )
        return tuple(positive(name, size) for size in sizes)

    def reset_parameters(self) -> None:
        """Draw new parameters, from the distributions of torch's convolutions."""
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.weight[0].numel())
            nn.init.uniform_(self.bias, -bound, bound)

    def is_exact(self, *size: int) -> bool:
        """Return whether the symmetry is exact for inputs of this size: the stride divides it."""
        return all(n % step == 0 for n, step in zip(size, self.stride, strict=True))

    @explained
    def forward(self, x: Tensor) -> Tensor:
        """Convolve every element of the batch ``x``."""
        size = x.shape[2:]
        if any(k > n for k, n in zip(self.kernel_size, size, strict=False)):
            raise ValueError(
                f"kernel_size must be at most the size of x, got {self.kernel_size} "
                f"for x of shape {tuple(x.shape)}"
            )
        if not (self._warned or torch.compiler.is_compiling() or self.is_exact(*size)):
            warnings.warn(
                f"stride {self.stride} of {type(self).__name__} does not divide the size "
                f"{tuple(size)} of x, so the layer is only nearly equivariant to circular shifts "
                "(see is_exact)",
                SymmetryWarning,
                stacklevel=5,
            )
            self._warned = True
        return circular_conv(x, self.weight, self.stride, self.bias, self.method)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        text += f", stride={self.stride}"
        if self.bias is None:
            text += ", bias=False"
        return text if self.method == "auto" else f"{text}, method={self.method!r}"


class CircularConv1d(_CircularConv):
    r"""Convolve signals that wrap around, with a kernel of any size up to their full length.

    .. math:: y_{c,o} = b_c + \sum_{c'} \sum_{t=0}^{k-1} w_{c,c',t} \;
        x_{c',\,(so + t - \lfloor k/2 \rfloor) \bmod L}

    The window starts :math:`\lfloor k/2 \rfloor` positions before its centre. For odd kernels this
    is ``nn.Conv1d`` with ``padding_mode="circular"`` and ``padding=k // 2``; parameters have the
    same names, shapes and initialisation.

    Both methods give the same result. ``"direct"`` repeats the ends of the signal and calls
    torch's convolution: about :math:`kL/s` products of channel matrices. ``"spectral"`` needs about
    :math:`1.5 L` of them between real Fourier transforms, which are matrix products too. ``"auto"``
    counts multiply-adds for the shapes at hand and takes the method with fewer; to match what is
    measured, a number in a spectrum counts 80 more (it is written and read), and the direct method
    works on channels in blocks of 16. For 64 signals of :math:`L = 50` and stride 1 it goes over to
    spectral at :math:`k = 10` with 64 channels and at :math:`k = 6` with 160.

    Args:
        in_channels: Channels of the input.
        out_channels: Channels of the output.
        kernel_size: Number of neighbours that an output position reads, at most the length.
        stride: Distance between the windows of neighbouring output positions.
        bias: Whether to add a learned number to each output channel.
        method: ``"direct"``, ``"spectral"``, or ``"auto"`` for the faster one.

    Shape:
        - x: ``(B, C_in, L)`` with any ``L`` of at least ``kernel_size``.
        - output: ``(B, C_out, ceil(L / stride))``.

    Symmetry:
        Equivariant to circular shifts: a shift by ``stride`` moves the output by one. Exact if and
        only if the stride divides the length, which ``is_exact(length)`` tells; the first other
        length draws a :class:`SymmetryWarning`.

    Example:
        >>> layer = CircularConv1d(3, 8, kernel_size=32, stride=2)
        >>> x = torch.randn(4, 3, 32)
        >>> layer(x).shape
        torch.Size([4, 8, 16])
        >>> torch.allclose(layer(x.roll(6, dims=-1)), layer(x).roll(3, dims=-1), atol=1e-4)
        True
        >>> layer.is_exact(32), layer.is_exact(33)
        (True, False)

    Reference:
        S. Winograd, "Arithmetic Complexity of Computations", 1980, for the number of products.
    """

    axes = ("L",)


class CircularConv2d(_CircularConv):
    r"""Convolve images that wrap around, with a kernel of any size up to their full size.

    The layer of :class:`CircularConv1d` with two axes, where the spectral method takes about
    :math:`2.25 HW` products of channel matrices: for 8 to 64 images with 64 channels and stride 1,
    ``"auto"`` goes over to it between 4×4 and 7×7.

    Args:
        kernel_size: Size of the window that an output pixel reads, one number or a pair.
        stride: Distance between the windows of neighbouring output pixels, one number or a pair.

    Shape:
        - x: ``(B, C_in, H, W)``, at least as large as the kernel.
        - output: ``(B, C_out, ceil(H / stride), ceil(W / stride))``.

    Symmetry:
        Equivariant to circular shifts of both axes: a shift by ``stride`` moves the output by one.
        Exact if and only if the strides divide height and width, which ``is_exact(height, width)``
        tells; the first other size draws a :class:`SymmetryWarning`.

    Example:
        >>> layer = CircularConv2d(3, 8, kernel_size=(3, 8), stride=(1, 2))
        >>> x = torch.randn(4, 3, 8, 8)
        >>> moved = layer(x.roll((5, 4), dims=(-2, -1)))
        >>> torch.allclose(moved, layer(x).roll((5, 2), dims=(-2, -1)), atol=1e-4)
        True
    """

    axes = ("H", "W")
