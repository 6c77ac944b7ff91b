"""Find the first words of a command that a rule can name so that it also covers other arguments (decisions/0043, 7).

Only words that say what the program does are such words: its name and its subcommand. Where the words after them could
choose another program, or another subcommand that nobody saw, there is no prefix.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .flags import base, launched_at, script_at
from .option_table_of_programs import harmless_rows
from .program_names import ALIKE, INERT, INTERPRETERS, NEVER, READERS, SHELLS, WRAPPERS, WRITERS
from .subcommands import subcommands

if TYPE_CHECKING:
    from .command_line import PlainCommand

_SUBCOMMAND = re.compile(r"[a-z][a-z0-9_:-]*")
"""The form of a subcommand: `log`, `ls-files`, `test:unit`. A path, an option or an assignment has another one."""


def prefix_words(part: PlainCommand) -> list[str]:
    """Return the words of the prefix, or an empty list if the command has none. They can be the whole command."""
    words = part.texts[: _length(part.texts)]
    return words if all(word.known and not word.pattern for word in part.words[: len(words)]) else []


def _length(texts: Sequence[str]) -> int:
    """Return how many words the prefix has; 0 means that there is none."""
    if not texts:
        return 0
    name = base(texts[0])
    if name in NEVER or name in SHELLS or name in WRAPPERS or name in WRITERS:
        return 0
    at = launched_at(texts)
    if at is not None:  # the prefix includes the program that finally runs
        inner = _length(texts[at:])
        return inner and at + inner
    script = script_at(texts)
    if script is not None:
        inner = _length(texts[script:]) if texts[script - 1] == "-m" else _of_script(texts[script:])
        return inner and script + inner
    if _takes_no_command(name):
        return 1
    if subcommands(name) is not None:
        return _of_known(texts, name)
    if "/" in texts[0] and not texts[0].startswith("/"):
        return _of_script(texts)
    row = harmless_rows().get(ALIKE.get(name, name))
    takes_one = row is not None and not row.forbids_assignments  # of `make` and `just`, each word is a target
    return _with_subcommands(texts, 1 if takes_one else len(texts))


def _takes_no_command(name: str) -> bool:
    """Return whether all arguments of the program are files, patterns or options."""
    row = harmless_rows().get(ALIKE.get(name, name))
    return name in READERS or name in INERT or (row is not None and name in row.plain)


def _of_known(texts: Sequence[str], name: str) -> int:
    """Return the length for a program whose subcommands are known: up to the subcommand, and what it groups."""
    table = subcommands(name)
    assert table is not None
    at = 1
    while at < len(texts) and texts[at].startswith("-"):
        at += 2 if texts[at] in table.valued else 1
    word = texts[at] if at < len(texts) else ""
    if word not in table.names:
        return _with_subcommands(texts, len(texts))  # an extension or an alias
    if word not in table.groups:
        return at + 1
    return at + 2 if _SUBCOMMAND.fullmatch("".join(texts[at + 1 : at + 2])) else 0


def _with_subcommands(texts: Sequence[str], limit: int) -> int:
    """Return the length for another program: with all words that could be subcommands, and at least one."""
    end = _after_subcommands(texts, limit)
    return end if end > 1 else 0


def _of_script(texts: Sequence[str]) -> int:
    """Return the length for a script of the project, whose arguments the person knows: it may stand alone."""
    return _after_subcommands(texts, len(texts))


def _after_subcommands(texts: Sequence[str], limit: int) -> int:
    """Return where the words end that could be subcommands of the first one; 0 if one could run any program."""
    end = 1
    while end < len(texts) and end <= limit and _SUBCOMMAND.fullmatch(texts[end]):
        end += 1
    return 0 if any(map(_runs_programs, texts[1:end])) else end


def _runs_programs(word: str) -> bool:
    """Return whether a word is the name of a program that runs what its arguments name."""
    names = {word, re.sub(r"[\d.]+$", "", word)}
    return any(names & programs for programs in (NEVER.keys(), SHELLS, WRAPPERS.keys(), INTERPRETERS.keys()))
