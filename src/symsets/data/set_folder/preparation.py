"""How elements are prepared: as an argument, in a card, and found from files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from symsets._checks import check_choice, positive, shown
from symsets.models.card import Card

KINDS = ("pictures", "vectors", "signals", "clouds")
RESIZE = ("crop", "scale")


@dataclass(frozen=True)
class Preparation:
    """How elements are prepared, as far as that was said.

    Attributes:
        kind: Pictures, vectors, signals or clouds.
        size: Height and width of pictures, or one number for both.
        resize: How pictures get that size.
        channels: Of an element.
        length: Of signals.
    """

    kind: str | None = None
    size: Any = None
    resize: str = "crop"
    channels: int | None = None
    length: int | None = None

    def __post_init__(self) -> None:
        if self.kind is not None:
            check_choice("kind", self.kind, KINDS)
        check_choice("resize", self.resize, RESIZE)
        if self.channels is not None and self.kind in (None, "pictures"):
            check_choice("channels", self.channels, (1, 3))
        if self.size is not None:
            both = self.size if isinstance(self.size, Sequence) else (self.size, self.size)
            if len(both) != 2:
                raise ValueError(
                    f"size must be one number, or height and width, got {shown(self.size)}"
                )
            object.__setattr__(self, "size", tuple(positive("size", side) for side in both))

    def to_element(self) -> dict[str, Any]:
        """Return what a card says about it."""
        if self.kind == "pictures":
            assert isinstance(self.size, Sequence)
            return {"size": [*self.size], "channels": self.channels, "resize": self.resize}
        length = {"length": self.length} if self.kind == "signals" else {}
        return {"channels": self.channels, **length}

    @classmethod
    def of_card(cls, card: Card) -> Preparation:
        """Return what the card of a network says."""
        if "channels" not in card.element:
            raise ValueError(f"like must say 'channels' in element, got {card.element}")
        known = ("size", "resize", "channels", "length")
        return cls(card.kind, **{name: v for name, v in card.element.items() if name in known})
