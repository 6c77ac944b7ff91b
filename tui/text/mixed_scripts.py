"""Mark letters of one script among those of another, as `а` (Cyrillic) in `pаyment` (UTS 39, 5.1 and 5.2)."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

_ACCENTS = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_WORD = re.compile(rf"(?:[^\W\d_][{_ACCENTS}]*){{2,}}")
_PLAIN = re.compile(r"[\x00-\u024f]*")
"""ASCII and Latin letters with accents: one script, and most of all text."""
_EAST_ASIAN = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "KATAKANA-HIRAGANA"})
_NO_SCRIPT = frozenset({"COMBINING", "MODIFIER", "MASCULINE", "FEMININE", "MICRO"})
_SLASHES = "\u2044\u2215\u2216\u2571\u2572\u29f5\u29f8\u29f9"
r"""Characters that look like `/` or `\`, which separate parts of a path."""


def mark_mixed(line: str) -> str:
    """Return `line` with a mark for each letter of a foreign script: not Latin, in a word with a Latin letter.

    East Asian scripts belong together, also with Latin.
    """
    return line if _PLAIN.fullmatch(line) else _WORD.sub(lambda word: _mark_word(word.group()), line)


def mark_lookalikes(path: str) -> str:
    """Return `path` with a mark for each character that only looks like an ASCII one, and for mixed scripts.

    A word is marked as a whole if all of its letters look like Latin ones.
    """
    if path.isascii():
        return path
    words = _WORD.sub(lambda word: _mark_each(word.group()) if _is_disguised(word.group()) else word.group(), path)
    return mark_mixed("".join(_code(sign) if _is_ascii_in_disguise(sign) else sign for sign in words))


_LATIN_LIKE = frozenset("аеорсухіјѕһԁԛԝӏҽѵѡАВЕКМНОРСТХІЈЅԌԚԜҮαγιονρυΑΒΕΖΗΙΚΜΝΟΡΤΥΧոսցհՕƖɑɡɩʏ")
"""Cyrillic, Greek and Armenian letters that most fonts draw like a Latin one (UTS 39, confusables.txt)."""


def _is_disguised(word: str) -> bool:
    return all(letter in _LATIN_LIKE or not _script(letter) for letter in word)


def _is_ascii_in_disguise(sign: str) -> bool:
    """Return whether Unicode maps the character to an ASCII one (fullwidth, mathematical), or it is a slash."""
    if sign in _SLASHES:
        return True
    seen = unicodedata.normalize("NFKC", sign)
    return sign > "\xff" and seen != sign and seen.isascii() and seen.isprintable()


def _mark_word(word: str) -> str:
    if _PLAIN.fullmatch(word):
        return word
    scripts = [_script(letter) for letter in word]
    found = set(scripts) - {""}
    if len(found) < 2 or found <= _EAST_ASIAN | {"LATIN"}:
        return word
    home = "LATIN" if "LATIN" in found else next(script for script in scripts if script)
    return "".join(
        letter if script in ("", home) else _code(letter) for letter, script in zip(word, scripts, strict=True)
    )


def _mark_each(word: str) -> str:
    return "".join(map(_code, word))


@cache
def _script(letter: str) -> str:
    """Return the first word of its Unicode name, which is the script of a letter; empty if it belongs to any script."""
    first = unicodedata.name(letter, "").partition(" ")[0]
    return "" if first in _NO_SCRIPT else first


def _code(letter: str) -> str:
    return f"⟨U+{ord(letter):04X}⟩"
