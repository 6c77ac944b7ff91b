"""What a customer is about to buy."""

from dataclasses import dataclass, field

from .money import parse


@dataclass
class Line:
    name: str
    cents: int
    count: int = 1


@dataclass
class Basket:
    lines: list[Line] = field(default_factory=list)

    def add(self, name: str, price: str, count: int = 1) -> None:
        """Puts it in; the same thing at the same price adds to its line."""
        self.lines.append(Line(name, parse(price), count))

    def is_empty(self) -> bool:
        """Nothing was put in."""
        return not self.lines

    def total(self) -> int:
        """Cents for everything."""
        return sum(line.cents for line in self.lines)

    def names(self) -> list[str]:
        """What is in it, in the order in which it was put in."""
        return [line.name for line in self.lines]

    def reduced(self, percent: int) -> int:
        """The total less so many percent, rounded to the nearest cent."""
        return int(self.total() * (1 - percent / 100))
