"""When what a module does may be done in another way: if nobody looks."""

from __future__ import annotations

import torch
from torch import nn
from torch.autograd import forward_ad
from torch.nn.modules.module import _has_any_global_hook

__all__ = ["is_bare", "is_transformed"]


def is_transformed() -> bool:
    """Whether torch traces or transforms what runs; then memory is none of our business.

    So it is inside modes, which see what every operator returns and may keep it, as selective
    checkpoints do.
    """
    return (
        torch.compiler.is_compiling()
        or torch._C._get_tracing_state() is not None
        or torch._C._are_functorch_transforms_active()
        or torch._C._len_torch_dispatch_stack() > 0
        or torch._C._len_torch_function_stack() > 0
    )


def is_bare(module: nn.Module) -> bool:
    """Whether a kernel may stand in for ``module``: no hook sees it, and no tangent passes it.

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
    )
    hooked = any(hooks) or _has_any_global_hook() or "forward" in vars(module)
    return not (hooked or forward_ad._current_level >= 0)
