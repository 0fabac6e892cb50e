"""Check that a layer or a whole model has the symmetry it promises.

Example:
    >>> import torch
    >>> from torch import nn
    >>> from symsets import DSS
    >>> layer = DSS(nn.Conv1d(3, 8, 5, padding=2, padding_mode="circular"))
    >>> assert_equivariant(layer, torch.randn(2, 6, 3, 32), symmetry=roll(7))
"""

from collections.abc import Callable, Sequence
from typing import Any

from symsets.groups import PermutationGroup
from symsets.sets import Sets
from symsets.testing.actions import ElementMap, GroupAction, draw_actions
from symsets.testing.check import EquivarianceCheck


def roll(*shifts: int) -> ElementMap:
    """Return the circular shift of the last axes of an element, as a symmetry to test.

    Example:
        >>> import torch
        >>> roll(1)(torch.arange(4))
        tensor([3, 0, 1, 2])
    """
    axes = tuple(range(-len(shifts), 0))
    return lambda x: x.roll(shifts, axes)


def equivariance_error(
    model: Callable[..., Any],
    x: Sets,
    *args: Any,
    symmetry: ElementMap | PermutationGroup | None = None,
    output_symmetry: ElementMap | None = None,
    moved_args: Sequence[Any] | None = None,
    task: str = "transform",
    trials: int = 3,
    seed: int = 0,
) -> float:
    r"""Measure by how much a model misses the symmetry :math:`S_N \times H`.

    .. math:: \frac{\max |f(g X) - g f(X)|}{\max(|f(X)|, |f(g X)|)}

    The order of every set is drawn at random, and :math:`h` is applied to all elements alike. A
    copy of the model runs in float64; put models with dropout in evaluation mode first. An output
    that is not finite counts as an infinite error. Where outputs are the small rest of large
    inputs, as after removing a mean, they differ by rounding: what a few hundred roundings of the
    input explain counts as no error. Of several outputs, each is measured on its own.

    Args:
        model: What to test. It returns a tensor, sets, or a tuple, list or dictionary of them.
        x: A batch of sets.
        args: Further arguments of the model that all elements share, such as a graph. Networks
            among them run in float64 as the model does; one that the model holds by itself, as
            ``lambda x: net(x)`` does, stays in its type.
        symmetry: How :math:`h` acts on a batch of elements ``(T, C, *E)``: a function such as
            :func:`roll`, or a permutation group acting on the last axes: all its generators are
            tried, and elements that are drawn. None tests the order alone.
        output_symmetry: How :math:`h` acts on the output, if not as on the input.
        moved_args: What ``args`` become under :math:`h`, if they change.
        task: What every output is: ``"transform"`` (every element), ``"select"`` (a score for
            every element), ``"merge"`` (one element per set), ``"classify"`` (a vector per set).
        trials: How many draws to take the maximum over; at least one for each generator of a group.
        seed: Of the draws.

    Example:
        >>> import torch
        >>> from symsets.nn import Select
        >>> x = torch.randn(2, 5, 3, 16)
        >>> equivariance_error(Select(3), x, symmetry=roll(3), task="select") < 1e-12
        True
        >>> equivariance_error(lambda x: x.cumsum(1), x) > 0.1
        True
    """
    check = EquivarianceCheck(model, x, args, moved_args, task)
    actions = draw_actions(check.x, symmetry, output_symmetry, trials, seed)
    return max(map(check.error, actions))


def assert_equivariant(
    model: Callable[..., Any],
    x: Sets,
    *args: Any,
    symmetry: ElementMap | PermutationGroup | None = None,
    output_symmetry: ElementMap | None = None,
    moved_args: Sequence[Any] | None = None,
    task: str = "transform",
    trials: int = 3,
    seed: int = 0,
    tolerance: float = 1e-9,
) -> None:
    """Raise an ``AssertionError`` that says where the symmetry of a model breaks, if it does.

    The message says whether the order of the set or the symmetry of the elements breaks it, and
    names the first submodule, in the order of execution, that returns what is not transformed as
    the input of the model is, or that already gets such a tensor. Where elements have the size of
    neither the input nor the output, as between strides, it is not known how :math:`h` acts, and
    only the order is checked.

    What a model makes of one set must not depend on the other sets of the batch, either; batch
    normalisation in training may do so.

    The largest relative error that passes is ``tolerance``; the other arguments are those of
    :func:`equivariance_error`.
    """
    check = EquivarianceCheck(model, x, args, moved_args, task)
    for action in draw_actions(check.x, symmetry, output_symmetry, trials, seed):
        error = check.error(action)
        if not error <= tolerance:
            message = f"equivariance error {error:.2g} is above {tolerance:.2g}: "
            raise AssertionError(message + _diagnosis(check, action, tolerance))
    if not (error := check.mixing()) <= tolerance:
        raise AssertionError(
            f"the answer for a set changes by {error:.2g} with the other sets of its batch: a "
            "layer takes the elements of all sets for one sequence, or averages over them"
        )


def _diagnosis(check: EquivarianceCheck, action: GroupAction, tolerance: float) -> str:
    """Say which of the two symmetries breaks, and where first."""
    order_only, element_only = action.reorder_only(), action.element_only()
    if not check.error(element_only.reorder_only()) <= tolerance:
        return "the model does not repeat itself (dropout? a NaN?); use evaluation mode"
    order = not check.error(order_only) <= tolerance
    element = not check.error(element_only) <= tolerance
    verdict, action = {
        (True, False): ("the order of the set is not kept", order_only),
        (False, True): ("the symmetry of the elements is not kept", element_only),
        (False, False): ("order and symmetry are kept, but not both together", action),
        (True, True): (
            "neither the order of the set nor the symmetry of the elements is kept",
            action,
        ),
    }[order, element]
    broken = check.first_break(action, tolerance)
    return f"{verdict}; it first breaks {broken}" if broken else verdict
