"""How many epochs lie between two validations."""

from dataclasses import replace

from symsets.train.plan import Plan

FEWEST_VALIDATIONS = 3  # fewer leave nothing to choose from, or to continue from


def epochs_between_validations(epochs: int, *, at_least: int = 8) -> int:
    """Return epochs between validations that are dear, so that there are still some of them.

    Example:
        >>> [epochs_between_validations(epochs) for epochs in (24, 30, 6)]
        [3, 3, 1]
    """
    return _divisors(epochs, epochs // at_least)[-1]


def validate_after(plan: Plan, steps: int, train_size: int) -> Plan:
    """Return the plan with validations that are at least ``steps`` apart, if epochs allow.

    They must divide the epochs, and a few of them must be left.

    Example:
        >>> [validate_after(Plan(n), 50, train_size=300).validate_every for n in (200, 199)]
        [20, 1]
    """
    wanted = max(plan.validate_every, -(-steps // plan.steps_per_epoch(train_size)))
    divisors = _divisors(plan.epochs, plan.epochs // FEWEST_VALIDATIONS)
    every = next((n for n in divisors if n >= wanted), divisors[-1])
    return replace(plan, validate_every=every)


def _divisors(number: int, most: int) -> list[int]:
    """Return the divisors of a number up to ``most``, at least 1, in order."""
    return [n for n in range(1, max(1, most) + 1) if number % n == 0]
