"""Errors of the sample project, and the fixes of the scripted model."""

from __future__ import annotations

import msgspec


class Hunk(msgspec.Struct, frozen=True):
    """One search/replace block."""

    old: str
    new: str


class Fix(msgspec.Struct, frozen=True):
    """The fix of one file."""

    path: str
    thought: str
    """The model's reasoning before it proposes the fix."""
    words: str
    hunks: list[Hunk] = []
    content: str | None = None
    """Content of a new file; then there are no hunks."""


_MONEY = Fix(
    "till/money.py",
    thought=(
        "Three things are wrong here. `parse` breaks on `3`, because there is nothing after the point to make a "
        "number of, takes `0.5` for five cents, and does not know the comma of thousands. `show` prints 12.5 "
        "instead of 12.50. `split` loses the cents that do not divide evenly."
    ),
    words="The amounts come first, everything else builds on them. Three functions in `till/money.py` are wrong.",
    hunks=[
        Hunk(
            '    whole, _, cents = text.partition(".")\n    return int(whole) * 100 + int(cents)\n',
            '    whole, _, cents = text.replace(",", "").partition(".")\n'
            '    return int(whole) * 100 + int(cents.ljust(2, "0")[:2])\n',
        ),
        Hunk('    return f"{cents / 100}"\n', '    return f"{cents // 100}.{cents % 100:02}"\n'),
        Hunk(
            "    return [cents // people] * people\n",
            "    share, left = divmod(cents, people)\n    return [share + 1] * left + [share] * (people - left)\n",
        ),
    ],
)
_BASKET = Fix(
    "till/basket.py",
    thought=(
        "`total` forgets how many of a thing there are. `add` makes a new line each time, the docstring says it should "
        "add to the line. And `reduced` cuts: 1990 less 30 % is 1392.9999 as a float, so it must be rounded in whole "
        "numbers."
    ),
    words="Now the basket: it forgets the count, doubles its lines, and cuts where it should round.",
    hunks=[
        Hunk(
            "        self.lines.append(Line(name, parse(price), count))\n",
            "        cents = parse(price)\n"
            "        for line in self.lines:\n"
            "            if (line.name, line.cents) == (name, cents):\n"
            "                line.count += count\n"
            "                return\n"
            "        self.lines.append(Line(name, cents, count))\n",
        ),
        Hunk(
            "        return sum(line.cents for line in self.lines)\n",
            "        return sum(line.cents * line.count for line in self.lines)\n",
        ),
        Hunk(
            "        return int(self.total() * (1 - percent / 100))\n",
            "        return (self.total() * (100 - percent) + 50) // 100\n",
        ),
    ],
)
_RECEIPT = Fix(
    "till/receipt.py",
    thought=(
        "`tests/test_receipt.py` imports `till.receipt`, and there is no such file. The test shows the layout: "
        "nineteen columns, the amount at the right, a rule, the total."
    ),
    words="One module is missing altogether: `till/receipt.py`. The test says how a receipt should look.",
    content='''"""The receipt, as it is printed."""

from .basket import Basket
from .money import show

WIDTH = 19
"""Columns of the paper."""


def receipt(basket: Basket) -> str:
    """A line for each thing, a rule, and the total."""
    lines = [_row(f"{line.count} x {line.name}", line.cents * line.count) for line in basket.lines]
    return "\\n".join([*lines, "-" * WIDTH, _row("total", basket.total())])


def _row(label: str, cents: int) -> str:
    amount = show(cents)
    return f"{label:<{WIDTH - len(amount)}}{amount}"
''',
)

FIXES = [_MONEY, _BASKET, _RECEIPT]
"""Fixes in the order in which the model proposes them."""
