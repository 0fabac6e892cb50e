"""How a metric is shown: its name, its unit, and which way is better."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class MetricDisplay:
    """A metric of ``results.json`` as it is shown.

    Attributes:
        name: Its word in the records.
        better: Which way is better, or nothing if that is not known: then nothing is best.
        scale: Shown value = stored value times this.
        digits: Decimals; four significant digits if nothing.
        unit: What stands behind a value.
        gap: What a difference is counted in.
        written: How people write its name, if not like the word.
    """

    name: str
    better: Literal["higher", "lower"] | None = None
    scale: float = 1.0
    digits: int | None = None
    unit: str = ""
    gap: str = ""
    written: str = ""

    @property
    def title(self) -> str:
        """The name as people write it."""
        return self.written or self.name

    def show(self, value: float, std: float | None = None) -> str:
        """Return ``mean ± std`` in the shown unit, without the unit.

        Example:
            >>> display_of("accuracy").show(0.975, 0.0021)
            '97.50 ± 0.21'
        """
        text = self._number(value)
        return text if std is None else f"{text} ± {self._number(std)}"

    def with_unit(self, value: float, std: float | None = None) -> str:
        """Return ``mean ± std`` and the unit."""
        return f"{self.show(value, std)}{self.unit}"

    def show_gap(self, gap: float) -> str:
        """Return a difference of two values, in words."""
        return f"{self._number(abs(gap))}{self.gap}"

    def gain(self, value: float, other: float) -> float:
        """Return by how much ``value`` is better than ``other``."""
        return other - value if self.better == "lower" else value - other

    def same(self, value: float, other: float) -> bool:
        """Return whether two values look the same when shown."""
        return self.show(value) == self.show(other)

    def best(self, values: Sequence[float]) -> float | None:
        """Return the best of some values; None if no direction is known or all look the same."""
        if not values or self.better is None:
            return None
        low, high = min(values), max(values)
        if len(values) > 1 and self.same(low, high):
            return None
        return low if self.better == "lower" else high

    @property
    def header(self) -> str:
        """The name with its unit and an arrow towards better."""
        arrow = {"higher": " ↑", "lower": " ↓", None: ""}[self.better]
        return f"{self.title}{',' if self.unit else ''}{self.unit}{arrow}"

    def _number(self, value: float) -> str:
        shown = value * self.scale
        return f"{shown:.4g}" if self.digits is None else f"{shown:.{self.digits}f}"


def _share(name: str, written: str = "") -> MetricDisplay:
    return MetricDisplay(name, "higher", 100.0, 2, " %", " points", written)


KNOWN = {
    m.name: m
    for m in (
        _share("accuracy"),
        _share("top2-accuracy", "top-2 accuracy"),
        _share("undirected-accuracy", "accuracy up to reversal"),
        MetricDisplay("auc", "higher", digits=4, written="AUC"),
        MetricDisplay("auc-20-classes", "higher", digits=4, written="AUC, 20 classes"),
        MetricDisplay("mae", "lower", digits=2, written="MAE"),
        MetricDisplay("psnr", "higher", digits=2, unit=" dB", gap=" dB", written="PSNR"),
        MetricDisplay("ssim", "higher", digits=4, written="SSIM"),
        MetricDisplay("cpsnr", "higher", digits=2, unit=" dB", gap=" dB", written="cPSNR"),
        MetricDisplay("cssim", "higher", digits=4, written="cSSIM"),
        MetricDisplay("score", "lower", digits=4),
        MetricDisplay("chamfer", "lower", digits=4, written="Chamfer ×100"),
        MetricDisplay("f-score@0.01", "higher", digits=3, written="F-score, 0.01"),
        MetricDisplay("f-score@0.02", "higher", digits=3, written="F-score, 0.02"),
    )
}


def display_of(name: str) -> MetricDisplay:
    """Return how to show a metric; an unknown one has a direction only if it is a loss or error."""
    if name in KNOWN:
        return KNOWN[name]
    bad = any(word in name for word in ("loss", "error", "mse", "l1"))
    return MetricDisplay(name, "lower" if bad else None)
