"""The fixes that the scripted model proposes for the errors of the sample project."""

from __future__ import annotations

import msgspec


class FixBlock(msgspec.Struct, frozen=True):
    """One search/replace block: the old text and its replacement."""

    old: str
    new: str


class Fix(msgspec.Struct, frozen=True):
    """The fix of one file: hunks for an existing file, or the content of a new one."""

    path: str
    thought: str
    """The model's reasoning before it proposes the fix."""
    words: str
    hunks: list[FixBlock] = []
    content: str | None = None
    """Content of a new file; then there are no hunks."""


_MONEY = Fix(
    "till/money.py",
    thought=(
        "Three functions are wrong. `parse` fails for `3` because there are no digits after the point, reads `0.5` "
        "as five cents, and does not accept commas between thousands. `show` prints 12.5 instead of 12.50. `split` "
        "loses the cents that do not divide evenly."
    ),
    words="I start with the amounts, because the other modules use them. Three functions in `till/money.py` are wrong.",
    hunks=[
        FixBlock(
            '    whole, _, cents = text.partition(".")\n    return int(whole) * 100 + int(cents)\n',
            '    whole, _, cents = text.replace(",", "").partition(".")\n'
            '    return int(whole) * 100 + int(cents.ljust(2, "0")[:2])\n',
        ),
        FixBlock('    return f"{cents / 100}"\n', '    return f"{cents // 100}.{cents % 100:02}"\n'),
        FixBlock(
            "    return [cents // people] * people\n",
            "    share, left = divmod(cents, people)\n    return [share + 1] * left + [share] * (people - left)\n",
        ),
    ],
)
_BASKET = Fix(
    "till/basket.py",
    thought=(
        "`total` ignores the count of each line. `add` always appends a new line, although its docstring says that it "
        "adds to an existing one. `reduced` truncates: 1990 minus 30 % is 1392.9999 as a float, so the result must be "
        "rounded with integers."
    ),
    words="The next file is the basket: it ignores the count, duplicates lines, and truncates instead of rounding.",
    hunks=[
        FixBlock(
            "        self.lines.append(Line(name, parse(price), count))\n",
            "        cents = parse(price)\n"
            "        for line in self.lines:\n"
            "            if (line.name, line.cents) == (name, cents):\n"
            "                line.count += count\n"
            "                return\n"
            "        self.lines.append(Line(name, cents, count))\n",
        ),
        FixBlock(
            "        return sum(line.cents for line in self.lines)\n",
            "        return sum(line.cents * line.count for line in self.lines)\n",
        ),
        FixBlock(
            "        return int(self.total() * (1 - percent / 100))\n",
            "        return (self.total() * (100 - percent) + 50) // 100\n",
        ),
    ],
)
_RECEIPT = Fix(
    "till/receipt.py",
    thought=(
        "`tests/test_receipt.py` imports `till.receipt`, but this file does not exist. The test shows the layout: "
        "19 columns, amounts aligned to the right, a rule, and the total."
    ),
    words="One module is missing: `till/receipt.py`. The test shows what a receipt should look like.",
    content='''"""Format a receipt as it is printed."""

from .basket import Basket
from .money import show

WIDTH = 19
"""Width of the paper in columns."""


def receipt(basket: Basket) -> str:
    """Return a line for each article, a rule, and the total."""
    lines = [_row(f"{line.count} x {line.name}", line.cents * line.count) for line in basket.lines]
    return "\\n".join([*lines, "-" * WIDTH, _row("total", basket.total())])


def _row(label: str, cents: int) -> str:
    amount = show(cents)
    return f"{label:<{WIDTH - len(amount)}}{amount}"
''',
)

FIXES = [_MONEY, _BASKET, _RECEIPT]
"""Fixes in the order in which the model proposes them."""
