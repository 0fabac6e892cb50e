"""Runs that belong together."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Group"]


@dataclass(frozen=True)
class Group:
    """Runs that are trained together: one model at one setting and size, some seeds."""

    setting: str
    model: str
    train_size: int
    epochs: int
    seeds: tuple[int, ...]
    relative_cost: float = 1.0

    @property
    def name(self) -> str:
        """What a progress bar shows."""
        words = [self.setting, self.model, f"{self.train_size:,} sets"]
        return ", ".join(word for word in words if word)

    @property
    def cost(self) -> float:
        """How much there is to compute, for the time that is left."""
        return self.epochs * self.train_size * len(self.seeds) * self.relative_cost
