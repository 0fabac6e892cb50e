"""How elements are prepared: as an argument, in a card, and found from files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
        size: Height and width of pictures.
        resize: How pictures get that size.
        channels: Of an element.
        length: Of signals.
    """

    kind: str | None = None
    size: tuple[int, int] | None = None
    resize: str = "crop"
    channels: int | None = None
    length: int | None = None

    def to_element(self) -> dict[str, Any]:
        """Return what a card says about it."""
        if self.kind == "pictures":
            assert self.size is not None
            return {"size": [*self.size], "channels": self.channels, "resize": self.resize}
        length = {"length": self.length} if self.kind == "signals" else {}
        return {"channels": self.channels, **length}

    @classmethod
    def checked(
        cls,
        kind: str | None,
        size: int | Sequence[int] | None,
        resize: str,
        channels: int | None,
    ) -> Preparation:
        """Return what a user said; raise ValueError naming the argument that is wrong."""
        if kind is not None:
            check_choice("kind", kind, KINDS)
        check_choice("resize", resize, RESIZE)
        if channels is not None and kind in (None, "pictures"):
            check_choice("channels", channels, (1, 3))
        return cls(kind, _shape(size), resize, channels)

    @classmethod
    def of_card(cls, card: Card) -> Preparation:
        """Return what the card of a network says."""
        check_choice("like.kind", card.kind, KINDS)
        element = card.element
        if "channels" not in element:
            raise ValueError(f"like must say 'channels' in element, got {element}")
        resize = element.get("resize", "crop")
        how = cls.checked(card.kind, element.get("size"), resize, element["channels"])
        return replace(how, length=element.get("length"))


def _shape(size: int | Sequence[int] | None) -> tuple[int, int] | None:
    if size is None:
        return None
    sides = list(size) if isinstance(size, Sequence) else [size, size]
    if len(sides) != 2:
        raise ValueError(f"size must be one number, or height and width, got {shown(size)}")
    return positive("size", sides[0]), positive("size", sides[1])
