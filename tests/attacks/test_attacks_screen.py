"""docs/attacks.md 4.1 to 4.27 in the program: every event, every widget, and the border for all foreign text."""

from __future__ import annotations

import ast
import random
import time
import unicodedata
from pathlib import Path

import pytest
from attacks.hostile import ALL, HOSTILE, flood
from fakes.screens import PlayedStart, Stage
from painted import shows, strips

import rundry.tui
from rundry.agent import ModelLine, ProposalDecided, ProposalOpened, RunLine, Survey
from rundry.agent.models.found_models import ServerFound
from rundry.tui.text.show_text import bare, in_place, one_line, show, strip

SIZE = (160, 200)
TUI = Path(rundry.tui.__path__[0])


def assert_harmless(text: str) -> None:
    for sign in set(text):
        assert sign == "\u3000" or unicodedata.category(sign) not in ("Cc", "Cf", "Cs", "Zl", "Zp"), hex(ord(sign))
    assert not any(sign * 6 in text for sign in "\u0301\u093f\u0e38")


def assert_drawn_as_text(stage: Stage) -> None:
    """Every segment of the screen, as it goes to the terminal."""
    for strip_ in strips(stage.app):
        for segment in strip_:
            assert_harmless(segment.text)
            style = segment.style
            assert style is None or not style.link, segment
            assert style is None or "@click" not in (style.meta or {}), segment


@pytest.mark.parametrize("number", HOSTILE)
async def test_every_event_with_a_hostile_text_is_drawn_as_plain_text(number: str) -> None:
    text = HOSTILE[number]
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(*flood(text))
        await shows(pilot, "n reject")
        assert_drawn_as_text(stage)  # the finder's side
        await pilot.press("ctrl+l")
        stage.screen.action_do("unfold_all")
        stage.screen.prompt.tell(text)
        await pilot.pause()
        drawn = stage.text()
        visible = {"4.1": text, "4.3": text, "4.4": "es␛cape", "4.14": "⟨U+202E⟩esrever", "4.20": "⟨400 blanks⟩"}
        assert drawn.count(visible.get(number, "")) > 20
        assert_drawn_as_text(stage)
        asks = {
            "asks": [text],
            "digest": "d2",
            "diff": f"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-{text}\n+{text}y\n",
            "hunks": 1,
        }
        stage.play(
            ProposalDecided(proposal_id="waits", decision="reject", by="person", reason=text),
            ProposalOpened(proposal_id="file", tool=text, path=text, **asks),
        )
        await shows(pilot, "e edit")
        assert_drawn_as_text(stage)


@pytest.mark.attack("4.27")
async def test_what_is_reported_before_a_run_is_plain_text_too(tmp_path: Path) -> None:
    class Start(PlayedStart):
        notes = [ALL]
        found = Survey(servers=[ServerFound(kind=ALL, api_base="http://127.0.0.1:1", models=[ModelLine(name=ALL)])])
        runs = (RunLine(run_id="r", path="r.db", state="interrupted", task=ALL),)

    for model in (None, ALL):
        folder = tmp_path / HOSTILE["4.6"].replace("/", "_")
        stage = Stage(start=Start(folder, model=model))
        async with stage.app.run_test(size=SIZE) as pilot:
            await shows(pilot, "Continue")
            stage.screen.prompt.fill(ALL)
            await pilot.pause()
            assert "es␛cape" in stage.text()
            assert_drawn_as_text(stage)


PLAIN_CALLS = frozenset({"Static", "Label", "Button", "notify", "Checkbox", "RadioButton", "Collapsible", "Select"})
"""Built from a text, these read markup in it unless that is switched off."""
FORBIDDEN = frozenset(
    {"from_markup", "RichLog", "Log", "Markdown", "MarkdownViewer", "DataTable", "OptionList", "Link"}
)
"""They would draw what they are given as it is, or run what is in it: not without a border of their own."""


@pytest.mark.attack(*(f"4.{n}" for n in range(1, 4)))
def test_no_widget_is_built_from_a_bare_text_that_it_would_read_as_markup() -> None:
    found: list[str] = []
    for path in sorted(TUI.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            plain = any(
                k.arg == "markup" and isinstance(k.value, ast.Constant) and not k.value.value for k in node.keywords
            )
            if name in FORBIDDEN or (name in PLAIN_CALLS and not plain):
                found.append(f"{path.relative_to(TUI)}:{node.lineno} {name}")
            if any(k.arg == "markup" and not plain for k in node.keywords):
                found.append(f"{path.relative_to(TUI)}:{node.lineno} markup=True")
    assert found == []


@pytest.mark.attack("4.24", "4.27")
def test_titles_and_tooltips_which_read_markup_are_not_used_and_nothing_is_printed_past_the_border() -> None:
    found: list[str] = []
    for path in sorted(TUI.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                of_app = node.attr in ("title", "sub_title") and getattr(node.value, "id", "") in ("self", "app")
                if of_app or node.attr in ("border_title", "border_subtitle", "tooltip"):
                    found.append(f"{path.relative_to(TUI)}:{node.lineno} {node.attr}")
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print":
                first = node.args[0] if node.args else ast.Constant("")
                said = ast.get_source_segment(text, first)
                crosses = ("one_line(", "show(", "proposal_lines(", "outcome_line(", "line if len(line)", ".join(rows)")
                if (
                    node.args
                    and not isinstance(node.args[0], ast.Constant)
                    and not any(word in (said or "") for word in crosses)
                ):
                    found.append(f"{path.relative_to(TUI)}:{node.lineno} print({said})")
    assert found == []


PIECES = [
    *HOSTILE.values(),
    *(chr(n) for n in range(0xA1)),
    *map(chr, range(0x2000, 0x2070)),
    *("\ufeff", "\U000e0020", "a", "界", "é", "\u0301", "👩", "\u200d", "\ufe0f", "\n", "\t", "  ", "\u3000", "[/]"),
    *("\U0001f1e6", "می\u200cخ"),
]
"""What the random texts are made of."""


@pytest.mark.attack(*(f"4.{n}" for n in range(4, 23)))
def test_two_hundred_thousand_random_texts_get_nothing_through_the_border() -> None:
    chance = random.Random(11)
    singles = [piece for piece in PIECES if len(piece) < 5]
    began = time.process_time()
    total = 0
    for n in range(200_000):
        text = "".join(chance.choices(PIECES if n % 10 == 0 else singles, k=1 + n % 7))
        shown = show(text)
        total += len(text)
        if n % 4 == 0:
            for again in (shown, strip(text), one_line(text)):
                assert show(again) == again, repr(text)
            assert len(in_place(text)) == len(text)
            in_place(text).encode()
            assert bare(bare(text)) == bare(text)
        if not shown.isprintable():
            left = set(shown) - {"\n", "\u3000"}
            odd = [c for c in left if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or _hides(c, shown)]
            assert not odd, (repr(text), repr(shown))
    assert time.process_time() - began < 60
    assert total > 500_000


def _hides(sign: str, shown: str) -> bool:
    """A format character that stands where no script and no emoji needs it."""
    if unicodedata.category(sign) != "Cf":
        return False
    if sign not in "\u200c\u200d":
        return True
    return not any("\u0600" <= c <= "\u0dff" for c in shown) and not (sign == "\u200d" and _joins_pictures(shown))


def _joins_pictures(shown: str) -> bool:
    sides = [shown[at - 1 : at] + shown[at + 1 : at + 2] for at, sign in enumerate(shown) if sign == "\u200d"]
    return all(len(both) == 2 and all(unicodedata.category(c) == "So" or c == "\ufe0f" for c in both) for both in sides)
