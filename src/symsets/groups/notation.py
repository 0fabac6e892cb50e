"""Groups as people write them: ``S5 x C4``, ``C4 wr S5``, ``S4^2``, ``S3[a] x S4[b] + S4[b]``."""

import re
from collections.abc import Callable
from typing import NoReturn

from symsets._checks import shown
from symsets.groups.composite import wreath
from symsets.groups.direct_sum import DirectSum
from symsets.groups.named import Cyclic, Dihedral, Symmetric, Trivial
from symsets.groups.permutation import PermutationGroup

MAX_NUMBER = 100_000
MAX_POWER = 8
MAX_DEPTH = 20

_NAMED: dict[str, Callable[[int], PermutationGroup]] = {
    "S": Symmetric,
    "C": Cyclic,
    "D": Dihedral,
    "I": Trivial,
}
_TOKEN = re.compile(
    r"\s*(?:(?P<named>[SCDI])(?P<size>[0-9]+)|(?P<number>[0-9]+)|(?P<sign>wr|[x×*^()+])"
    r"|\[(?P<name>[A-Za-z_][A-Za-z0-9_]*)\])"
)


def parse(text: str) -> PermutationGroup:
    """Read a group from its name.

    =========================  ==================================================================
    ``S5 C4 D6 I3``            symmetric, cyclic, dihedral and trivial group, by number of points
    ``S5 x C4``                direct product; also ``×`` or ``*``
    ``C4 wr S5``               wreath product: five elements, C4 acts on each separately
    ``S4^2``                   S4 acting on pairs of indices (not a product)
    ``(C8 x C8) wr S5``        brackets; ``^`` binds tightest, then ``wr``, the product, the sum
    ``S4^2 + S4``              direct sum: one S4 acts on pairs and on points
    ``S3[a] x S3[b] + S3[b]``  names tell apart factors that would be equal
    =========================  ==================================================================

    Args:
        text: The name; ``str`` of a group made of named ones can be read back.

    Example:
        >>> parse("S5 x C4"), parse("C4 wr S5")
        (S5 × C4 acting on 5×4, C4 wr S5 acting on 5×4)
    """
    if not isinstance(text, str):
        raise TypeError(f"text must be a string such as 'S5 x C4', got {shown(text)}")
    reader = _Reader(text)
    group = reader.sum()
    if text[reader.place :].strip():
        reader.fail("'+', a product sign, 'wr', '^' or the end")
    return group


class _Reader:
    """A recursive-descent parser with one method per level of precedence."""

    def __init__(self, text: str) -> None:
        self.text, self.place, self.depth = text, 0, 0

    def sum(self) -> PermutationGroup:
        parts = [self.product()]
        while self.sign("+"):
            parts.append(self.product())
        return parts[0] if len(parts) == 1 else DirectSum(*parts)

    def product(self) -> PermutationGroup:
        group = self.wreath()
        while self.sign("x", "×", "*"):
            group = group * self.wreath()
        return group

    def wreath(self) -> PermutationGroup:
        group = self.power()
        while self.sign("wr"):
            place, copies = self.place, self.power()
            if not isinstance(copies, Symmetric):
                self.place = place
                self.fail("S<n> after 'wr'")
            group = wreath(group, copies.degree)
        return group

    def power(self) -> PermutationGroup:
        group = self.atom()
        if (token := self.peek()) and token["name"]:
            self.place = token.end()
            group = group.named(token["name"])
        while self.sign("^"):
            group = group.on_tuples(self.number("number", "a power", MAX_POWER))
        return group

    def atom(self) -> PermutationGroup:
        token = self.peek()
        if token and token["named"]:
            return _NAMED[token["named"]](self.number("size", "a number of points", MAX_NUMBER))
        if not self.sign("("):
            self.fail("a group such as S5, C4, D6, I3 or '('")
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"at most {MAX_DEPTH} brackets inside each other")
        group = self.sum()
        if not self.sign(")"):
            self.fail("')'")
        self.depth -= 1
        return group

    def number(self, kind: str, expected: str, limit: int) -> int:
        token = self.peek()
        digits = token[kind].lstrip("0") if token and token[kind] else ""
        if not token or not 0 < len(digits) <= len(str(limit)) or int(digits) > limit:
            self.fail(f"{expected} from 1 to {limit}")
        self.place = token.end()
        return int(digits)

    def sign(self, *signs: str) -> bool:
        token = self.peek()
        if token and token["sign"] in signs:
            self.place = token.end()
            return True
        return False

    def peek(self) -> re.Match[str] | None:
        return _TOKEN.match(self.text, self.place)

    def fail(self, expected: str) -> NoReturn:
        place = len(self.text) - len(self.text[self.place :].lstrip())
        raise ValueError(
            f"text must name a group, got {self.text!r}: expected {expected} "
            f"at character {place + 1}"
        )
