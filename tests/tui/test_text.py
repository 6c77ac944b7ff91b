from __future__ import annotations

import random
import sys
import time
import unicodedata

import pytest
from hypothesis import given, settings, strategies as st
from sampling import examples

from rundry.tui.text.show_text import MARK, bare, in_place, one_line, path_line, show, strip

PIECES = [
    "\x1b]52;c;ZXZpbA==\x07", "\x1b[31m", "\x1b]0;title\x1b\\", "\x9b2J", "\x9d8;;http://x\x9c", "\x1b", "\x07", "\b",
    "\r", "\r\n", "\n", "\t", " ", "a", "code", "\u202e", "\u2066", "\u200b", "\ufeff", "\U000e0041", "\ud800", "\x00",
    "\x7f", "\x85", "[/]", "[@click=app.quit]x[/]", "é", "界", "\u0301", "\u200d", "\ufe0f", "👩", "\u00a0", "\u3164",
]  # fmt: skip


def _is_harmless(text: str) -> bool:
    return not any(
        (ord(c) < 0x20 and c != "\n")
        or 0x7F <= ord(c) <= 0x9F
        or 0xD800 <= ord(c) <= 0xDFFF
        or c in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u200e\u200f\u061c\u2028\u2029\ufeff\u00ad"
        or 0xE0000 <= ord(c) <= 0xE0FFF
        for c in text
    )


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[31mred", "␛[31mred"),
        ("evil\b\bgood", "evil␈␈good"),
        ("over\rwritten", "over␍written"),
        ("dos\r\nlines\r\n", "dos\nlines\n"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("\U000e0041", "⟨U+E0041⟩"),
        ("zero\u200bwidth", "zero⟨U+200B⟩width"),
        ("lone\ud800", "lone⟨U+D800⟩"),
        ("c1\x9b2J", "c1⟨U+009B⟩2J"),
        ("del\x7f", "del␡"),
        ("no\u00a0break", "no␣break"),
        ("\ta\tb", "    a   b"),
        ("ls" + "\t" * 500 + "; rm -rf x", "ls⟨500 tabs⟩; rm -rf x"),
        ("ls" + " " * 500 + "; rm -rf x", "ls⟨500 blanks⟩; rm -rf x"),
        ("ls" + "\n" * 300 + "rm -rf x", "ls\n⟨299 empty lines⟩\nrm -rf x"),
        ("a" + "\u0301" * 90, "a⟨90 combining marks⟩"),
        ("[@click=app.quit]x[/]", "[@click=app.quit]x[/]"),
    ],
)
def test_what_would_hide_is_shown_as_a_mark(hostile: str, shown: str) -> None:
    assert show(hostile) == shown
    assert show(shown) == shown


@pytest.mark.parametrize("plain", ["", "def f(a):\n    return a\n", "naïve 界面 ✓ ⚠\ufe0f", "می\u200cخواهم", "a\n\nb"])
def test_ordinary_text_stays_as_it_is(plain: str) -> None:
    assert show(plain) == plain
    assert strip(plain) == plain


def test_no_invisible_code_point_is_drawn_alone() -> None:
    seen = set("\n \u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u0890\u0891\u08e2\u3000\U000110bd\U000110cd")
    for code in range(sys.maxunicode + 1):
        sign = chr(code)
        if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp", "Zs") and sign not in seen:
            assert sign not in show(f"a{sign}b"), hex(code)
            assert sign not in strip(f"a{sign}b"), hex(code)


def test_a_joiner_is_marked_where_no_script_needs_it() -> None:
    assert show("pass\u200dword") == "pass⟨U+200D⟩word"


def test_two_texts_that_differ_look_different() -> None:
    assert show("a\u00a0b") != show("a b")
    assert show("a\ufe0fb") != show("ab")
    assert show("a\u200bb") != show("ab")


@pytest.mark.parametrize(
    ("logged", "stripped"),
    [
        ("\x1b[1;31mFAILED\x1b[0m x", "FAILED x"),
        ("\x1b]0;window title\x07ok", "ok"),
        ("\x1b]8;;http://evil\x1b\\text\x1b]8;;\x1b\\", "text"),
        ("\x1bP1$r0m\x1b\\done", "done"),
        ("10 %\r20 %\r", "10 %\n20 %\n"),
        ("\x1b(Bplain", "plain"),
        ("\x9b31mred", "red"),
        ("\x1b]0;never ended", "␛]0;never ended"),
        ("\x1b]0;not over\nlines\x07", "␛]0;not over\nlines␇"),
        ("\x1b\x1b[0m[31m", "␛[31m"),
    ],
)
def test_a_log_loses_its_sequences_and_nothing_else(logged: str, stripped: str) -> None:
    assert strip(logged) == stripped


def test_a_program_that_reads_gets_the_words_without_what_steers_a_terminal() -> None:
    hostile = "\x1b]52;c;ZXZpbA==\x07\x1b[31mred\x1b[0m\tis\r\nred\x07\x00 \x9b2J\u00a0é\ud800"
    assert bare(hostile) == "red\tis\nred \u00a0é"
    assert bare("if x:\n\treturn 1\n") == "if x:\n\treturn 1\n"


def test_a_shown_line_has_no_line_feed() -> None:
    assert one_line("a\nb\x1b") == "a⏎b␛"


def test_the_marks_can_be_found_again() -> None:
    shown = show("\x1b \u202e" + " " * 200 + "x")
    assert [m.group() for m in MARK.finditer(shown)] == ["␛", "⟨U+202E⟩", "⟨200 blanks⟩"]


@given(st.text(max_size=200))
@settings(max_examples=examples(300), deadline=None)
def test_no_text_whatever_gets_a_control_character_through(text: str) -> None:
    for shown in (show(text), strip(text)):
        assert _is_harmless(shown)
        assert show(shown) == shown


def test_no_mix_of_hostile_pieces_gets_through() -> None:
    chance = random.Random(7)
    for _ in range(12_000):
        text = "".join(chance.choices(PIECES, k=chance.randrange(1, 14)))
        for shown in (show(text), strip(text)):
            assert _is_harmless(shown), repr(text)
            assert show(shown) == shown, repr(text)
            shown.encode()


@pytest.mark.parametrize("piece", ["\x1b]", "\x1b[", "\x1bP", " ", "\t", "\n", "\u0301", "\x1b]0;" + "x" * 30])
def test_the_time_grows_with_the_length_alone(piece: str) -> None:
    def seconds(times: int) -> float:
        text = piece * times
        best = 9.0
        for _ in range(5):
            began = time.thread_time()
            show(text), strip(text)
            best = min(best, time.thread_time() - began)
        return best

    small, large = seconds(1_500), seconds(15_000)
    assert large < small * 40 + 0.02


def test_every_combining_character_of_every_script_is_limited_per_base_character() -> None:
    for code in range(sys.maxunicode + 1):
        sign = chr(code)
        if unicodedata.category(sign) in ("Mn", "Mc", "Me"):
            piled = f"a{sign * 200}b"
            assert sign * 5 not in show(piled), hex(code)
            assert len(show(piled)) < 2_100
            assert sign * 5 not in in_place(piled) and len(in_place(piled)) == len(piled)


def test_combining_characters_of_several_scripts_with_joiners_between_them_are_counted_together() -> None:
    pile = "\u0301\u093f\u200d\u0e38\u200c\U00011127\u05b4" * 40
    assert show(f"क{pile}x") == "क⟨280 combining marks⟩x"
    assert show("e" + "\u1175" * 9) == "e⟨9 combining marks⟩"


@pytest.mark.parametrize(
    "word",
    [
        "हिन्दी क्ष्म्य",
        "বাংলা ক্ষ্ম",
        "ไทย ปั้น น้ำ",
        "རྒྱལ་པོ བསྒྲུབས",
        "မြွှေ ကျွန်ုပ်",
        "שָׁלוֹם בְּרֵאשִׁ֖ית",
        "العَرَبِيَّة",
        "tiếng Việt",
        "한국어",
        "e\u0301\u0302\u0303\u0304",
    ],
)
def test_words_of_living_scripts_are_not_taken_for_piles(word: str) -> None:
    assert "combining" not in show(word)


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("src/p\u0430yment.py", "src/p⟨U+0430⟩yment.py"),
        ("p\u0301\u0430\u0301y", "p\u0301⟨U+0430⟩\u0301y"),
        ("m\u03b1in.py", "m⟨U+03B1⟩in.py"),
        ("\u0441onfig/\u13a2x", "⟨U+0441⟩onfig/⟨U+13A2⟩x"),
        ("\u0444\u03b9le", "⟨U+0444⟩⟨U+03B9⟩le"),
        ("\u0444\u0438\u03b9", "\u0444\u0438⟨U+03B9⟩"),
        ("\u0455\u0441\u043e\u0440\u0435.py", "⟨U+0455⟩⟨U+0441⟩⟨U+043E⟩⟨U+0440⟩⟨U+0435⟩.py"),
        ("src\u2215main.py", "src⟨U+2215⟩main.py"),
        ("a\u2024py \uff50\uff59", "a⟨U+2024⟩py ⟨U+FF50⟩⟨U+FF59⟩"),
        ("a\nb", "a⏎b"),
    ],
)
def test_a_letter_that_is_not_what_it_looks_like_is_marked_in_a_path(path: str, shown: str) -> None:
    assert path_line(path) == shown
    assert path_line(shown) == shown


@pytest.mark.parametrize(
    "path", ["отчет_v2.txt", "日本語test.py", "résumé.md", "και/νέα.txt", "データ.csv", "한글abc", "x².txt"]
)
def test_paths_in_one_script_to_a_word_stay_as_they_are(path: str) -> None:
    assert path_line(path) == path


def test_a_mixed_word_is_marked_wherever_text_stands_in_one_line() -> None:
    assert one_line("run p\u0430yment") == "run p⟨U+0430⟩yment"
