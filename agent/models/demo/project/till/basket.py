"""The articles that a customer is about to buy."""

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
        """Add an article; the same article at the same price is added to its line."""
        self.lines.append(Line(name, parse(price), count))

    def is_empty(self) -> bool:
        """Return whether nothing was added."""
        return not self.lines

    def total(self) -> int:
        """Return the sum in cents."""
        return sum(line.cents for line in self.lines)

    def names(self) -> list[str]:
        """Return the names of the articles, in the order in which they were added."""
        return [line.name for line in self.lines]

    def reduced(self, percent: int) -> int:
        """Return the total reduced by a percentage, rounded to the nearest cent."""
        return int(self.total() * (1 - percent / 100))
