"""Decide whether a plain command contains the words of a deny or ask rule, or could contain them.

An unknown word (an expansion, a glob, braces, an alias of the program) may stand for any number of words. An argument
may be a command line: of a launcher it is one, and so it may be wherever the program, its command or an option of it is
not known to be harmless (`risk()`). So no list of options that run commands has to be complete.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from enum import IntEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ..host.real_paths import real_path
from .command_line import PlainCommand, Word
from .flags import base, hides, is_launcher, risk
from .line_parser import parse_line
from .option_table_of_programs import harmless_rows
from .program_names import ALIKE, INERT
from .subcommands import Subcommands, subcommands
from .unwrap import unwrapped

if TYPE_CHECKING:
    from .command_line import ParsedLine

_DEEPEST = 4
"""Arguments within arguments that are read as command lines."""
_MOST_STARTS = 20
"""Places in one argument at which a command line is read."""


class Hit(IntEnum):
    """How certain it is that a rule applies to a command."""

    NO = 0
    MAYBE = 1
    """An unknown word could be a word of the rule."""
    ARGUMENT = 2
    """The command could run one of its arguments, which runs the words of the rule."""
    SURE = 3


def hit(words: Sequence[str], part: PlainCommand, depth: int = 0) -> Hit:
    """Return how certain it is that the part runs the words of the rule. The first one is a program."""
    found = _at(words, part.words)
    later = [part.words[at:] for at in range(1, len(part.words))]
    if found is Hit.SURE or not later:
        return found
    if hides(part) is not None or is_launcher(part.texts, 0):
        given = [*(_at(words, rest) for rest in later), *(_script(words, word, depth) for word in part.words[1:])]
        return max(found, *given)
    if found is Hit.NO and not _is_harmless(part):
        program, runs_git = base(words[0]).casefold(), base(part.name) == "git"
        named = [rest for rest in later if base(rest[0].text).casefold() == program]
        texts = [word for word in part.words[1:] if runs_git or program in word.text.casefold()]
        own = [(part.words[0], *rest) for rest in later if runs_git]  # `git for-each-repo --config=x push`
        is_run = any(_at(words, rest) for rest in named) or any(_at(words, rest) is Hit.SURE for rest in own)
        if is_run or any(_script(words, word, depth) for word in texts):
            return Hit.ARGUMENT
    return found


def _is_harmless(part: PlainCommand) -> bool:
    """Return whether the program is known, and runs nothing with these arguments."""
    name = base(part.name)
    is_known = name in INERT or subcommands(name) is not None or ALIKE.get(name, name) in harmless_rows()
    return is_known and risk(part) is None


def _script(words: Sequence[str], word: Word, depth: int) -> Hit:
    """Return how certain it is that a word contains a command line that runs the words of the rule."""
    if depth == _DEEPEST:
        return Hit.NO
    parts = [part for script in _scripts(base(words[0]), word.text) for part in unwrapped(parse_line(script)).parts]
    found = max((hit(words, part, depth + 1) for part in parts), default=Hit.NO)
    return max(found, Hit.ARGUMENT) if _holds(words, word) else found


def _scripts(program: str, text: str) -> list[str]:
    """Return what could be a command line in an argument: all of it, an option's value, and from the program on."""
    if text.startswith("--"):
        text = text.partition("=")[2]
    elif text.startswith("-"):
        joined = re.match(rf"-\w{{1,4}}?(?={re.escape(program)}(?!\w))", text, re.IGNORECASE)
        text = text[joined.end() :] if joined else text.partition("=")[2] or text[2:]
    elif not re.search(r"[^\w./@:+-]", text):
        return []  # a single word, which is compared as a word
    starts = islice(re.finditer(rf"(?<!\w){re.escape(program)}(?!\w)", text, re.IGNORECASE), _MOST_STARTS)
    return list(dict.fromkeys(script for script in (text, *(text[one.start() :] for one in starts)) if script.strip()))


def _at(words: Sequence[str], given: Sequence[Word]) -> Hit:
    """Return how certain it is that the command in `given` is the one of the rule."""
    if not given:
        return Hit.NO
    program, name = base(words[0]).casefold(), base(given[0].text).casefold()
    if name == program:
        return _behind(program, words[1:], given[1:])
    if len(words) > 1 and name == f"{program}-{words[1]}".casefold():  # `git-push` in git's own folder
        return _behind(program, words[2:], given[1:])
    return Hit.MAYBE if _is_open(given[0]) else Hit.NO


def _behind(program: str, words: Sequence[str], given: Sequence[Word]) -> Hit:
    """Match the plain words of the rule in their order, and its options anywhere."""
    options = [word for word in words if word.startswith("-")]
    plain = [word for word in words if not word.startswith("-")]
    given = [piece for word in given for piece in _split(word, options)]
    return min([_in_order(program, plain, given), *(_option(option, given) for option in options)])


def _split(word: Word, options: Sequence[str]) -> list[Word]:
    """Split an option of the rule from its joined value (`-mx`, `--opt=x`)."""
    for option in options:
        joined = f"{option}=" if option.startswith("--") else option
        if word.text.startswith(joined) and len(word.text) > len(joined) and len(option) != 1:
            return [Word(option), Word(word.text[len(joined) :], word.known, word.pattern), word]
    return [word]


def _in_order(program: str, plain: Sequence[str], given: Sequence[Word]) -> Hit:
    """Match the words in order. Only options and their values may be between them."""
    table = subcommands(program)
    at, may_be_value = 0, False
    for word in given:
        if at == len(plain):
            break
        text = word.text
        if text == plain[at] or (at == 0 and table is not None and table.aliases.get(text) == plain[0]):
            at, may_be_value = at + 1, False
        elif _is_open(word):
            return Hit.MAYBE
        elif text.startswith("-"):
            may_be_value = table is None or text in table.valued
        elif may_be_value:
            may_be_value = False
        else:
            return Hit.MAYBE if at == 0 and _may_mean(text, plain[0], table) else Hit.NO
    return Hit.SURE if at == len(plain) else Hit.NO


def _may_mean(text: str, command: str, table: Subcommands | None) -> bool:
    """Return whether the text could mean this subcommand: it is a shortened form, or may be an alias."""
    return command.startswith(text) or (table is not None and table.has_aliases and text not in table.names)


def _option(option: str, given: Sequence[Word]) -> Hit:
    """Return how certain it is that the option is given, in any spelling."""
    ends = next((at for at, word in enumerate(given) if word.known and word.text == "--"), len(given))
    texts = [word.text for word in given[:ends]]
    if option in texts or (_letters([option]) and _letters([option]) <= _letters(texts)):
        return Hit.SURE
    if any(map(_is_open, given[:ends])) or any(_resembles(option, text) for text in texts):
        return Hit.MAYBE
    return Hit.NO


def _letters(texts: Sequence[str]) -> set[str]:
    """Return the letters of bundled options: `-rf` is `-r -f`."""
    return {letter for text in texts if re.fullmatch(r"-[A-Za-z]{1,4}", text) for letter in text[1:]}


def _resembles(option: str, text: str) -> bool:
    """Match a shortened option (`--forc`), or the long name of a letter (`-f` and `--force`)."""
    name = text.partition("=")[0]
    if option.startswith("--"):
        return (len(name) > 3 and option.startswith(name)) or option[2] in _letters([text])
    return name.startswith("--") and name[2:3] in _letters([option])


def _is_open(word: Word) -> bool:
    return word.pattern or not word.known


def _holds(words: Sequence[str], word: Word) -> bool:
    """Return whether the argument is a script that contains the words of the rule in a row."""
    found = r"\W+".join(re.escape(text) for text in [base(words[0]), *words[1:]])
    return bool(re.search(r"\s", word.text)) and re.search(rf"(?<!\w){found}(?!\w)", word.text) is not None


def named_paths(line: ParsedLine, root: Path) -> list[str]:
    """Return all words that may be paths below the workspace, as written and with links resolved."""
    paths: dict[str, None] = {}
    folders = [root, *(root / part.texts[1] for part in line.parts if part.name == "cd" and len(part.words) == 2)]
    words = [text for part in line.parts for word in part.texts[1:] for text in _pieces(word) if text]
    for word in (word for word in (*words, *line.writes) if "\0" not in word):
        for folder in folders:
            for place in (Path(os.path.normpath(folder / word)), real_path(folder / word)):
                if place != root and place.is_relative_to(root):
                    paths[place.relative_to(root).as_posix()] = None
    return list(paths)


def _pieces(word: str) -> list[str]:
    """Return the word and its parts that could be paths: `--file=x`, `-fx`, `@x`, `host:x`."""
    joined = [word[2:]] if word.startswith("-") and not word.startswith("--") else []
    return [word, word.partition("=")[2], *joined, *(re.split(r"[=:@,]", word)[1:])]
