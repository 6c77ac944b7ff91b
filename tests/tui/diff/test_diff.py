from __future__ import annotations

import difflib
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from sampling import examples

from rundry.agent.gate.text_diff import split_bytes
from rundry.agent.host.files.file_content import text_format_of
from rundry.agent.host.files.file_states import FileState
from rundry.agent.protocol.text.changed_lines import iter_changes
from rundry.tui.diff.changed_words import changed_words
from rundry.tui.diff.code_runs import lex, lexer_for, packed, unpacked
from rundry.tui.diff.contents import diff_of
from rundry.tui.diff.diff_rows import Diff
from rundry.tui.diff.renderer import DiffRenderer
from rundry.tui.diff.unified import diff_of_text
from rundry.tui.theme.theme import shipped_palette

PALETTE = shipped_palette("dark")
OLD = (
    "import os\n\n\ndef divide(a, b):\n    r = round(a / b, 2)\n    return r\n"
    + "# x\n" * 40
    + "class Last:\n    size = 1\n"
)
NEW = (
    OLD.replace("    r =", "    if b == 0:\n        raise ZeroDivisionError\n    r =")
    .replace(", 2)", ", 3)")
    .replace("= 1", "= 2")
)
lines = st.lists(st.sampled_from(["a", "b", "c", "}", ""]), max_size=40)


def _sides(diff: Diff) -> tuple[list[str], list[str]]:
    rows = [row for row in diff.rows if row.kind in " +-"]
    return [row.text for row in rows if row.kind != "+"], [row.text for row in rows if row.kind != "-"]


def _seen(diff: Diff, width: int = 70) -> list[str]:
    renderer = DiffRenderer(diff)
    drawn = [renderer.draw(index, width, PALETTE, {}) for index in range(len(diff.rows))]
    return ["".join(text for text, _ in line).rstrip() for rows in drawn for line in rows]


ends = st.lists(st.sampled_from(["a\n", "b\n", "b\r\n", "\n", "}\n", "d\re\n", "\x0c\n", "ü\n"]), max_size=60)
sides = st.tuples(ends, st.sampled_from(["", "a", "x", "b\r", "\ufeff"])).map(lambda both: "".join(both[0]) + both[1])


@given(sides, sides, st.sampled_from(["utf-8", "utf-16", "utf-8-sig", "latin-1"]), st.booleans())
@settings(max_examples=examples(300), deadline=None)
def test_the_hunks_on_the_screen_are_those_of_the_gate_line_by_line(
    old: str, new: str, encoding: str, exists: bool
) -> None:
    before, after = (text.encode(encoding, errors="replace") for text in (old, new))
    form = text_format_of(before)
    state = FileState(
        path=Path("a"),
        real=Path("/a"),
        exists=exists,
        data=before if exists else b"",
        is_binary=exists and not form.encoding,
        encoding=form.encoding if exists else "utf-8",
    )
    parts = split_bytes(state, after)
    diff = diff_of("a", before if exists else None, after)
    assert [(hunk.index, hunk.added, hunk.removed) for hunk in (parts.hunks if parts else [])] == [
        (hunk.index, hunk.added, hunk.removed) for hunk in diff.hunks
    ]
    for row in diff.rows:
        if parts is not None and row.kind in "+-":
            change = parts.hunks[row.hunk].changes
            line = parts.old[row.old - 1] if row.kind == "-" else parts.new[row.new - 1]
            assert line.rstrip("\r\n").lstrip("\ufeff") == row.text.rstrip("\r").lstrip("\ufeff")
            assert any(one.a1 < row.old <= one.a2 if row.kind == "-" else one.b1 < row.new <= one.b2 for one in change)


@given(lines, lines)
@settings(max_examples=examples(200), deadline=None)
def test_a_line_stands_next_to_one_other_at_most_and_the_order_of_both_sides_is_kept(
    old: list[str], new: list[str]
) -> None:
    diff = diff_of("x", "\n".join(old).encode(), "\n".join(new).encode())
    left: list[int] = []
    right: list[int] = []
    for at, row in enumerate(diff.rows):
        if row.kind == "-":
            left.append(row.old)
            right += [diff.rows[at + row.beside - n].new for n in range(row.lead, 0, -1)]
            right += [diff.rows[at + row.beside].new] if row.beside else []
        elif row.kind == "+" and not row.beside:
            right.append(row.new)
        elif row.kind == " ":
            left.append(row.old)
            right.append(row.new)
    assert left == sorted(left) and len(left) == len({row.old for row in diff.rows if row.kind in " -"})
    assert right == sorted(right) and len(right) == len({row.new for row in diff.rows if row.kind in " +"})


@given(lines, lines)
@settings(max_examples=examples(200), deadline=None)
def test_the_whole_diff_holds_both_texts_line_by_line(old: list[str], new: list[str]) -> None:
    before, after = "".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new)
    diff = diff_of("x", before.encode(), after.encode())
    diff.unfold_all()
    assert _sides(diff) == (old, new)
    for row in diff.rows:
        assert not row.old or row.kind == "open" or old[row.old - 1] == row.text
        assert not row.new or row.kind == "open" or new[row.new - 1] == row.text


@given(lines, lines)
@settings(max_examples=examples(200), deadline=None)
def test_a_unified_text_gives_the_rows_that_the_contents_give(old: list[str], new: list[str]) -> None:
    text = "\n".join(difflib.unified_diff(old, new, "a", "b", lineterm=""))
    for row in diff_of_text("x", text).rows:
        assert row.kind != "note" or old == new
        if row.kind in " +-":
            assert not row.old or old[row.old - 1] == row.text
            assert not row.new or new[row.new - 1] == row.text


def test_both_numbers_the_hunks_names_and_what_is_folded_are_seen() -> None:
    assert _seen(diff_of("calc.py", OLD.encode(), NEW.encode())) == [
        "   1   1    import os",
        " divide" + " " * 56 + "1 of 2",
        "   2   2",
        "   3   3",
        "   4   4    def divide(a, b):",
        "   5     −      r = round(a / b, 2)",
        "       5 +      if b == 0:",
        "       6 +          raise ZeroDivisionError",
        "       7 +      r = round(a / b, 3)",
        "   6   8        return r",
        "   7   9    # x",
        "   8  10    # x",
        " ⋯ 36 unchanged",
        " Last" + " " * 58 + "2 of 2",
        "  45  47    # x",
        "  46  48    # x",
        "  47  49    class Last:",
        "  48     −      size = 1",
        "      50 +      size = 2",
    ]


def test_a_removed_line_is_paired_with_the_line_that_it_became() -> None:
    diff = diff_of("calc.py", OLD.encode(), NEW.encode())
    found = {at: diff.partner(at) for at, row in enumerate(diff.rows) if row.kind == "-"}
    pairs = {(diff.rows[a].text.strip(), diff.rows[b].text.strip()) for a, b in found.items() if b is not None}
    assert pairs == {("r = round(a / b, 2)", "r = round(a / b, 3)"), ("size = 1", "size = 2")}


def test_new_lines_above_the_one_that_a_line_became_are_the_partners_of_none() -> None:
    old, new = b"x = compute(one, two)\n", b"first = 1\nsecond = 2\nx = compute(one, three)\nlast = 4\n"
    diff = diff_of("calc.py", old, new)
    found = {row.text: diff.partner(at) for at, row in enumerate(diff.rows) if row.kind in "+-"}
    removed, became = (at for at, row in enumerate(diff.rows) if row.text.startswith("x = "))
    assert found == {
        "x = compute(one, two)": became,
        "first = 1": None,
        "second = 2": None,
        "x = compute(one, three)": removed,
        "last = 4": None,
    }


@pytest.mark.parametrize(
    ("old", "new", "left", "right"),
    [
        ("x = one(2)", "x = two(2)", ["one"], ["two"]),
        ("keep this and that", "keep this", [" and that"], []),
        ("nothing alike here", "entirely other words", [], []),
        ("same", "same", [], []),
    ],
)
def test_the_changed_words_of_a_line_are_marked(old: str, new: str, left: list[str], right: list[str]) -> None:
    spans = changed_words(old, new)
    assert [old[start:end] for start, end in spans[0]] == left
    assert [new[start:end] for start, end in spans[1]] == right


def test_of_very_long_lines_what_lies_between_their_like_beginning_and_end_is_marked() -> None:
    many = "x " * 4_000
    ((left,), (right,)) = changed_words(f"{many}word_1;{many}", f"{many}word_22;{many}")
    assert (left, right) == ((8_000, 8_006), (8_000, 8_007))
    assert changed_words(many, f"{many}more") == ([], [(8_000, 8_004)])
    assert changed_words(many, "y " * 4_000) == ([], [])


def test_a_change_of_blanks_alone_can_be_seen() -> None:
    seen = _seen(diff_of("Makefile", b"all:\n\techo\n", b"all:\n        echo\n"))
    assert seen[-2:] == ["   2     −  →   echo", "       2 +  ········echo"]


def test_a_long_line_is_wrapped_and_never_cut() -> None:
    line = "x" * 500 + "; rm -rf /"
    seen = _seen(diff_of("a.sh", None, f"{line}\n".encode()))
    assert "".join(part[12:] for part in seen[1:]) == line


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (None, b"", "an empty file"),
        (b"a\n", None, "deleted"),
        (b"a\n", b"a", "the last line feed was removed"),
        (b"a", b"a\n", "a last line feed was added"),
        (b"a\r\nb\r\n", b"a\nb\n", "line endings: CRLF before, LF after"),
        (b"\0\1\2", b"\0\1", "binary: 3 bytes before, 2 bytes after"),
    ],
)
def test_what_a_line_cannot_show_is_reported(before: bytes | None, after: bytes | None, said: str) -> None:
    assert said in "\n".join(_seen(diff_of("x", before, after)))


def test_hostile_text_in_a_file_is_shown_as_marks() -> None:
    seen = "\n".join(_seen(diff_of("a.py", b"", "x = 1 \u202e# \x1b[31m\x07\tok\n".encode())))
    assert "x = 1 ⟨U+202E⟩# ␛[31m␇" in seen
    assert "\x1b" not in seen


def test_a_text_that_is_not_a_diff_is_shown_unchanged() -> None:
    text = "a sentence\n@@ -1,2 +1,2 @@ def f():\n-old\n+new\n same\n\\ No newline at end of file\nmore words\n"
    seen = "\n".join(_seen(diff_of_text("x.py", text)))
    for part in ("a sentence", "old", "new", "same", "No newline at end of file", "more words", " f "):
        assert part in seen


def test_a_text_over_several_lines_is_coloured_as_one() -> None:
    pieces = list(lex(['x = """', "def f", '"""'], lexer_for("a.py")))
    assert pieces[1] == [("def f", "code_string")] or pieces[1] == [("def f", "code_comment")]


def test_a_file_of_no_known_kind_is_not_guessed_at() -> None:
    assert lexer_for("README.unknown") is None
    assert list(lex(["def f(): pass"], None)) == [[("def f(): pass", "code")]]


@given(st.lists(st.text("ab c_=\"'#\n(){}:é\t", max_size=30), max_size=8))
@settings(max_examples=examples(100), deadline=None)
def test_packed_colours_are_unpacked_to_the_same_line(texts: list[str]) -> None:
    shown = [line for text in texts for line in text.replace("\t", " ").split("\n")]
    for line, pieces in zip(shown, lex(shown, lexer_for("a.py")), strict=True):
        found = unpacked(line, packed(pieces))
        assert "".join(text for text, _ in found) == line
        assert packed(found) == packed(pieces)


@pytest.mark.parametrize("seed", range(6))
def test_long_texts_are_compared_window_by_window_and_nothing_is_lost_at_the_seams(seed: int) -> None:
    rng = random.Random(seed)
    old = [f"line {rng.randrange(9_000 if seed % 2 else 300)}\n" for _ in range(9_000)]
    new = [line for line in old if rng.random() > 0.02]
    for _ in range(150):
        new.insert(rng.randrange(len(new)), f"fresh {rng.random()}\n")
    if seed > 3:
        new[4_000:4_000] = [f"block {n % 50}\n" for n in range(5_000)]
    at_old = at_new = 0
    for change in iter_changes(old, new):
        assert old[at_old : change.a1] == new[at_new : change.b1]
        at_old, at_new = change.a2, change.b2
    assert old[at_old:] == new[at_new:]


def test_the_first_change_of_a_long_text_comes_before_its_end_is_looked_at() -> None:
    class Watched(list[str]):
        furthest = 0

        def __getitem__(self, at: Any) -> Any:
            end: int = getattr(at, "stop", at)
            self.furthest = max(self.furthest, end)
            return super().__getitem__(at)  # pyright: ignore[reportUnknownVariableType]

    old = Watched(f"line {n}\n" for n in range(100_000))
    new = Watched(f"line {n}{'!' if n % 20 == 7 else ''}\n" for n in range(100_000))
    assert next(iter_changes(old, new)) == (7, 8, 7, 8)
    assert max(old.furthest, new.furthest) < 10_000


def test_the_panes_are_imported_without_the_core_behind_the_gate() -> None:
    code = "import sys, rundry.tui.diff; print([name for name in sys.modules if name in %r])"
    heavy = ("litellm", "pygments", "rapidfuzz", "rundry.agent.gate", "tree_sitter")
    done = subprocess.run([sys.executable, "-c", code % (heavy,)], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
