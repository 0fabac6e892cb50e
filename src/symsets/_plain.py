"""When what a module does may be done in another way: if nobody looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.nn.modules import module as _module
from torch.utils._device import DeviceContext

__all__ = ["NORMS", "is_bare", "is_transformed"]

NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
_GLOBAL_HOOKS = (
    _module._global_forward_hooks,
    _module._global_forward_pre_hooks,
    _module._global_backward_hooks,
    _module._global_backward_pre_hooks,
)
_FORWARDS: dict[type[nn.Module], Callable[..., Any]] = {
    kind: kind.forward for kind in (*NORMS, nn.ReLU, nn.ELU, nn.MaxPool2d)
}


def is_transformed(*tensors: Tensor) -> bool:
    """Whether torch traces or transforms what runs; then memory is none of our business.

    So it is inside modes, which see what every operator returns and may keep it, as selective
    checkpoints do, and for tensors that may have no memory of their own: those of derived classes,
    and batches of gradients (``is_grads_batched``).
    """
    return (
        torch.compiler.is_compiling()
        or torch._C._get_tracing_state() is not None
        or torch._C._are_functorch_transforms_active()
        or torch._C._len_torch_dispatch_stack() > 0
        or any(map(_sees_results, range(torch._C._len_torch_function_stack())))
        or not all(map(_is_plain, tensors))
    )


def _sees_results(place: int) -> bool:
    """Whether a mode does more than to choose a device, as ``torch.set_default_device`` does."""
    return not isinstance(torch._C._get_function_stack_at(place), DeviceContext)


def _is_plain(tensor: Tensor) -> bool:
    return type(tensor) in (Tensor, nn.Parameter) and torch._C._has_storage(tensor)


def is_bare(module: nn.Module) -> bool:
    """Whether a kernel may stand in for ``module``: no hook sees it, and no tangent passes it.

    Nor has anybody given it, or its class, another ``forward``.

    Example:
        >>> relu = nn.ReLU()
        >>> seen = relu.register_forward_hook(lambda module, inputs, output: None)
        >>> is_bare(relu), is_bare(nn.ReLU())
        (False, True)
    """
    hooks = (
        module._forward_hooks,
        module._forward_pre_hooks,
        module._backward_hooks,
        module._backward_pre_hooks,
        *_GLOBAL_HOOKS,
    )
    kind = type(module)
    replaced = "forward" in vars(module) or kind.forward is not _FORWARDS.get(kind, kind.forward)
    return not (any(hooks) or replaced or forward_ad._current_level >= 0)
