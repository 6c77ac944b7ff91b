"""A day's usual work in a chat, in the real program: what is typed, what is asked, and what is there in the end.

The model plays transcripts of such work. `docs/explanation/day.md` compares the numbers with other programs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from contract.day.at_work import CART, MONEY, TESTS, AtWork, make_shop
from contract.gate.test_web_on_terminal import configure, rule
from contract.loops.test_called_children import Model, child
from fakes.models.stateless_server import StatelessServer
from fakes.project import git
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import Call, Turn, call, calls, edit, say
from fakes.views.asciicast import save
from fakes.web.odd_pages import Reply
from fakes.web.search_server import KEY, SearchServer
from fakes.web.site import Site

FIX = edit("shop/cart.py", "sum(price for _, price, _ in", "sum(price * count for _, price, count in")
BUG = [
    calls(Call("run_command", {"command": TESTS}), text="I run the tests first."),
    calls(
        Call("read_file", {"path": "tests/test_shop.py"}),
        Call("read_file", {"path": "shop/cart.py"}),
        text="One test fails. I read it, and the code that it tests.",
    ),
    Turn(text="The total ignores the count.", calls=FIX.calls),
    call("run_command", command=TESTS),
    say("The total counts each line as often as it was added. Both tests pass."),
]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return make_shop(folder)


@contextmanager
def at_work(
    home: Home, shop: Path, model: ScriptedServer | StatelessServer, *words: str, env: Mapping[str, str] | None = None
) -> Iterator[AtWork]:
    """A chat in the shop. With `RUNDRY_CASTS` it is recorded in that folder, under the name of the test."""
    with model as server:
        options = ["--model", "fake", "--api-base", server.base_url, *words]
        with home.screen(*options, cwd=shop, rows=40, columns=120, env=env) as terminal:
            terminal.wait_for("what should be done?")
            yield AtWork(home, server, terminal)
            if folder := os.environ.get("RUNDRY_CASTS"):
                name = os.environ["PYTEST_CURRENT_TEST"].partition("::test_")[2].split()[0]
                save(terminal, Path(folder, f"{re.sub('[^a-z]+', '-', name).strip('-')}.cast"), "rundry")


def model(turns: Sequence[Turn]) -> ScriptedServer:
    """A model that plays these turns."""
    return ScriptedServer(turns, then=say("I wait for the next task."))


def test_a_bug_is_fixed(home: Home, shop: Path):
    """The tests run in a layer without a question; the edit is a question."""
    with at_work(home, shop, model(BUG)) as work:
        work.say("the tests fail: fix it")
        work.answer("▌ y approve", "y")
        work.terminal.wait_for("Both tests pass.")
        assert (work.questions(), work.keys) == (1, 1)
    assert "price * count" in (shop / "shop/cart.py").read_text()


def test_a_bug_is_fixed_without_a_question(home: Home, shop: Path):
    with at_work(home, shop, model(BUG), "--gate", "auto") as work:
        work.say("the tests fail: fix it")
        work.terminal.wait_for("Both tests pass.")
        assert (work.questions(), work.keys) == (0, 0)
    assert "price * count" in (shop / "shop/cart.py").read_text()
    assert git(shop, "diff", "--stat", "--", "tests") == ""


VOUCHER = "def reduced(amount, percent):\n    return amount - amount * percent // 100\n"
VOUCHERED = CART.replace("from shop.money import cents", "from shop.money import cents, reduced").replace(
    "    def names",
    "    def total_with(self, percent):\n        return reduced(self.total(), percent)\n\n    def names",
)
VOUCHER_TEST = """import unittest

from shop.cart import Cart


class Vouchers(unittest.TestCase):
    def test_a_voucher_reduces_the_total(self):
        cart = Cart()
        cart.add("pen", "2.00")
        self.assertEqual(cart.total_with(10), 180)
"""
FEATURE_CHECK = "python3 -m unittest -q tests.test_vouchers"
READ_BOTH = calls(Call("read_file", {"path": "shop/cart.py"}), Call("read_file", {"path": "shop/money.py"}))
FEATURE = [
    READ_BOTH,
    call(
        "propose_plan",
        steps=[
            "Add reduced(amount, percent) to shop/money.py.",
            "Add Cart.total_with(percent), which uses it.",
            "Test it in tests/test_vouchers.py.",
        ],
        check=FEATURE_CHECK,
    ),
    READ_BOTH,
    calls(
        Call("write_file", {"path": "shop/money.py", "content": MONEY + "\n\n" + VOUCHER}),
        Call("write_file", {"path": "shop/cart.py", "content": VOUCHERED}),
        Call("write_file", {"path": "tests/test_vouchers.py", "content": VOUCHER_TEST}),
        text="I add the function, then what uses it, then the test.",
    ),
    say("A voucher reduces a total."),
]


@pytest.mark.parametrize(("gate", "keys"), [("effects", 3), ("auto", 2)])
def test_a_feature_is_added_with_a_plan(home: Home, shop: Path, gate: str, keys: int):
    """The plan with its check is always a question. The files that change are one, or the test that the check needs."""
    with at_work(home, shop, model(FEATURE), "--gate", gate) as work:
        work.say("/plan add vouchers: a percentage off the total")
        work.answer("▌ y accept plan", "y")
        if gate == "effects":
            work.answer("Y approve all 3", "Y")
            work.terminal.wait_for("Y press again")
            work.press("Y")
        else:
            work.answer("The check passes only with these changes", "y")
        work.terminal.wait_for("✓ done", timeout=60)
        (end,) = work.events("run_ended")
        assert (end["reason"], work.keys) == ("done", keys)
    assert (shop / "tests/test_vouchers.py").read_text() == VOUCHER_TEST


TABLE = "".join(f'    "{n}": {n},\n' for n in range(12))
LONG = MONEY.replace("def shown", f"STAMPS = {{\n{TABLE}}}\n\n\ndef shown")
REWORKED = LONG.replace(
    '    whole, _, part = text.partition(".")\n    return int(whole) * 100 + int(part or 0)',
    '    whole, _, part = text.strip().partition(".")\n    return int(whole or 0) * 100 + int(part.ljust(2, "0"))',
).replace('return f"{amount // 100}.{amount % 100:02}"', 'return f"{amount // 100},{amount % 100:02}"')
KEPT = REWORKED.replace("100},{amount", "100}.{amount")
REVIEW = [
    call("read_file", path="shop/money.py"),
    call("write_file", path="shop/money.py", content=REWORKED),
    say("I left the point as it was, and made the amounts robust."),
]


def test_a_diff_is_reviewed_and_reworked_by_hunks(home: Home, shop: Path):
    """One of two hunks is skipped with a reason, which the model reads; the other one is written."""
    (shop / "shop/money.py").write_text(LONG)
    with at_work(home, shop, model(REVIEW)) as work:
        work.say("amounts may have blanks around them, and one digit")
        work.answer("1 of 2", "]", "space")
        work.terminal.wait_for("○ skipped 1")
        work.press("tab")
        work.terminal.wait_for("keep as the reason to skip")
        work.say("invoices need the point")
        work.terminal.wait_for('skipped: "invoices need the point"')
        work.press("y")
        work.terminal.wait_for("I left the point as it was")
        assert "invoices need the point" in work.server.requests[2].text
        assert (work.questions(), work.keys) == (1, 4)
    assert (shop / "shop/money.py").read_text() == KEPT


BUILD = "for part in 1 2 3; do sleep 0.3; echo built $part; done; echo ready"
WAIT = [
    call("start_command", command=BUILD, name="build"),
    call("wait_for", job="build"),
    say("The build is ready."),
]


def test_a_build_is_awaited_without_a_model_call(home: Home, shop: Path):
    with at_work(home, shop, model(WAIT), "--gate", "auto") as work:
        work.say("build it, and tell me when it is done")
        work.terminal.wait_for("The build is ready.")
        assert len(work.server.requests) == 3
        assert "built 3" in work.server.requests[2].text
        assert (work.questions(), work.keys) == (0, 0)


WRONG = edit("shop/cart.py", "return [name for name, _, _ in self.lines]", "return sorted(n for n, _, _ in self.lines)")
RIGHT = edit(
    "shop/cart.py",
    "return [name for name, _, _ in self.lines]",
    "return list(dict.fromkeys(n for n, _, _ in self.lines))",
)
READ_CART = call("read_file", path="shop/cart.py")
TURNS_BACK = [
    READ_CART,
    FIX,
    say("The total is right."),
    WRONG,
    say("The names are sorted."),
    RIGHT,
    say("Each name is there once, in its order."),
]


def test_a_wrong_turn_is_taken_back_with_its_files(home: Home, shop: Path):
    """The rewind is chosen from a list, and takes back the second change, not the first."""
    with at_work(home, shop, model(TURNS_BACK), "--gate", "auto") as work:
        work.say("the total ignores the count")
        work.terminal.wait_for("The total is right.")
        work.say("names has doubles")
        work.terminal.wait_for("The names are sorted.")
        work.say("/rewind")
        work.answer("Would restore 1 file", "enter")
        work.terminal.wait_for("y rewind")
        work.press("y")
        work.terminal.wait_for(
            lambda lines: "sorted" not in (shop / "shop/cart.py").read_text() and "› names" in "".join(lines)
        )
        text = (shop / "shop/cart.py").read_text()
        assert "price * count" in text and "sorted" not in text
        work.say(": keep the order")
        work.terminal.wait_for("Each name is there once")
        assert "sorted" not in work.server.requests[-1].text
    text = (shop / "shop/cart.py").read_text()
    assert "price * count" in text and "dict.fromkeys" in text


def test_a_question_is_researched_on_the_web_and_by_a_child_run(home: Home, shop: Path):
    """Two hosts are questions. The child run only reads, so it asks nothing."""
    page = Reply(b"<title>Vouchers</title><p>A voucher is rounded in favour of the customer.</p>")
    with SearchServer("brave") as provider, Site(routes={"/vouchers": page}) as site:
        search = f'[search]\nprovider = "brave"\napi_base = "{provider.url}"\n'
        configure(home, search + rule("ask", f"127.0.0.1:{site.port}"))
        research = [
            call("web_search", query="rounding of vouchers"),
            call("fetch_url", url=f"{site.url}/vouchers"),
            calls(child("callers", "list each call of cents, with its line")),
            say("Round in favour of the customer; cents is called once, in shop/cart.py."),
        ]
        looks = [call("search", pattern="cents\\("), say("One call: shop/cart.py:11.")]
        talks = Model({"how are vouchers rounded": research, "list each call of cents": looks})
        with at_work(home, shop, talks, env={"BRAVE_API_KEY": KEY}) as work:
            work.say("how are vouchers rounded, and what calls cents?")
            work.answer("▌ y approve", "y")
            work.answer(re.compile(r"▌ request a page of 127\.0\.0\.1"), "y")
            work.terminal.wait_for("Round in favour of the customer")
            assert "favour of the customer" in talks.asked("how are vouchers rounded")[2].text
            assert "One call: shop/cart.py:11." in talks.asked("how are vouchers rounded")[3].text
            assert work.keys == 2
    assert git(shop, "status", "--porcelain") == ""
