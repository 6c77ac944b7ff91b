"""A person at work in a chat: what they type is counted, and so is what they are asked."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fakes.models.stateless_server import StatelessServer
from fakes.project import git
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.terminal import Terminal, Want

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import event_type, to_json_line

READS = 0.4
"""Seconds in which a person looks at a question."""
TESTS = "python3 -m unittest -q"
CART = '''"""What a customer wants to buy."""

from shop.money import cents


class Cart:
    def __init__(self):
        self.lines = []

    def add(self, name, price, count=1):
        self.lines.append((name, cents(price), count))

    def total(self):
        return sum(price for _, price, _ in self.lines)

    def names(self):
        return [name for name, _, _ in self.lines]
'''
MONEY = '''"""Amounts, in cents."""


def cents(text):
    whole, _, part = text.partition(".")
    return int(whole) * 100 + int(part or 0)


def shown(amount):
    return f"{amount // 100}.{amount % 100:02}"
'''
SUITE = """import unittest

from shop.cart import Cart
from shop.money import cents, shown


class Totals(unittest.TestCase):
    def test_each_line_counts_as_often_as_it_was_added(self):
        cart = Cart()
        cart.add("pen", "1.50", 2)
        self.assertEqual(cart.total(), 300)

    def test_an_amount_is_shown_with_two_digits(self):
        self.assertEqual(shown(cents("3.05")), "3.05")
"""


def make_shop(folder: Path) -> Path:
    """A small shop in a git repository; one of its two tests fails, because a total ignores how many were added."""
    for path, text in {
        "shop/__init__.py": "",
        "shop/cart.py": CART,
        "shop/money.py": MONEY,
        "tests/__init__.py": "",
        "tests/test_shop.py": SUITE,
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "A shop")
    return folder


@dataclass
class AtWork:
    """A session in a pseudo-terminal."""

    home: Home
    server: ScriptedServer | StatelessServer
    terminal: Terminal
    typed: int = 0
    """Characters of messages, with their Enter."""
    keys: int = 0
    """Keys besides."""
    answered: list[str] = field(default_factory=list[str])
    """What the person was asked, in the words of the screen."""

    def say(self, text: str) -> None:
        """Type a message and send it."""
        self.terminal.send(text)
        self.terminal.wait_for(text[-20:])
        self.terminal.press("enter")
        self.typed += len(text) + 1

    def press(self, *keys: str) -> None:
        """Press keys that answer nothing."""
        self.terminal.press(*keys)
        self.keys += len(keys)

    def answer(self, asked: Want, *keys: str) -> None:
        """Wait for a question, read it, and press the keys that answer it."""
        screen = self.terminal.wait_for(asked)
        time.sleep(READS)  # keys that were pressed before a dialog was painted do not count
        self.answered.append(next((line.strip() for line in screen.splitlines() if line.startswith(" ▌")), ""))
        self.press(*keys)

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        """The events of these types in the newest run."""
        journal = Journal.open(self.home.journals()[-1])
        try:
            return [json.loads(to_json_line(each)) for each in journal.read() if event_type(each.event) in kinds]
        finally:
            journal.close()

    def questions(self) -> int:
        """How often the newest run waited for the person."""
        decided = self.events("proposal_decided")
        return sum(each["by"] == "person" for each in decided) + len(self.events("question_asked"))
