"""Find what a plain command can do beyond what its name says. The data is in `known` and `options`."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import msgspec

from .command_line import PlainCommand, Word
from .option_table_of_programs import Launcher, launcher_rows, unlisted
from .program_names import (
    ALIKE,
    GIT_BEFORE,
    GIT_COMMANDS,
    GIT_EDITS,
    GIT_HARMLESS,
    GIT_LETTERS,
    GIT_MAY_EDIT,
    GIT_RISKY,
    HIDING,
    INTERPRETERS,
    LISTS,
    NEVER,
    PLACED,
    PYTHON_CODE,
    READERS,
    RISKY,
    SHELLS,
    SINGLE_DASH,
    WRITERS,
)
from .subcommands import subcommands

__all__ = ["base", "hides", "is_launcher", "launched_at", "risk", "script_at", "script_of", "unknown_word"]

_PRINT = re.compile(r"\d+(,(\d+|\$))?p")
"""A sed script that only prints lines."""
_PYTHON_PLAIN = re.compile(r"-[bBdEhIOPqsSuvVx]+|--version|--help|-[WX].+")
_UNPACKS = frozenset({"-x", "--extract", "--get"})
_EDITS = frozenset({"-e", "--edit"})


def risk(part: PlainCommand) -> str | None:
    """Return why this command must ask even if a rule allows it, or None. All words are known (see `unknown_word`)."""
    name = base(part.name)
    given = part.texts[1:]
    if name in NEVER:
        return f"`{name}`: {NEVER[name]}"
    if name in SHELLS:
        return f"`{name}`: it runs commands that are not visible here"
    if name == "git":
        return _git_risk(given)
    if name == "sed":
        return _sed_risk(part)
    if name == "tar":
        return _tar_risk(given)
    if name in ("uniq", "xxd") and len([word for word in given if not word.startswith("-")]) > 1:
        return f"`{name}`: it writes to its second file"
    if name == "make" and any("=" in word for word in given):
        return "`make`: it sets variables of the makefile"
    language = _language(name)
    if language is not None and (why := _interpreter_risk(part, INTERPRETERS[language])):
        return why
    return _launch_risk(part) or _option_risk(name, given)


def _launch_risk(part: PlainCommand) -> str | None:
    """Return why a launched command must ask, or why it is unknown where that command begins."""
    launched = _launch(part.texts)
    if launched is None:
        at = _module_at(part)
        return risk(PlainCommand(part.words[at:], part.piped)) if at is not None and at < len(part.words) else None
    if launched.unknown is not None:
        return f"`{part.name} {launched.unknown}`: this option is unknown"
    return risk(PlainCommand(part.words[launched.at :], part.piped)) if launched.at < len(part.words) else None


def _module_at(part: PlainCommand) -> int | None:
    """Return the index of the module that `python -m` runs, which is judged like a program of that name."""
    is_python = _language(base(part.name)) == "python"
    return part.texts.index("-m") + 1 if is_python and "-m" in part.texts else None


def _option_risk(name: str, given: Sequence[str]) -> str | None:
    launched = _launch([name, *given])
    own = given if launched is None else given[: launched.at - 1]
    if (unknown := unlisted(ALIKE.get(name, name), own)) is not None:
        return f"`{name} {unknown}`: this option is not known to be harmless"
    risky = RISKY.get(ALIKE.get(name, name), frozenset())
    found = next((word for word in own if _is_risky(word, risky, name) or (word[:1] == "@" and name in LISTS)), None)
    return f"`{name} {found}`: this option can run or write something" if found else None


def hides(part: PlainCommand) -> str | None:
    """Return why this part could run a command that is not visible in its words, or None."""
    first = part.words[0] if part.words else None
    name = base(part.name)
    if first is not None and (not first.known or first.pattern):
        return f"the program behind `{first.text}` is unknown"
    if name in SHELLS or (name in NEVER and NEVER[name] in HIDING) or name in ("env", "xargs"):
        return f"the commands of `{name}` are not visible here"
    return None


def is_launcher(texts: Sequence[str], reach: int) -> bool:
    """Return whether the first `reach` words do not include the launched command: such a rule would allow any."""
    launched = _launch(texts)
    return launched is not None and reach <= launched.at


def launched_at(texts: Sequence[str]) -> int | None:
    """Return the index of the launched command, or None if this is not a launcher.

    It is past the last word if nothing is launched, or the place is unknown.
    """
    launched = _launch(texts)
    return None if launched is None else len(texts) if launched.unknown is not None else launched.at


def script_at(texts: Sequence[str]) -> int | None:
    """Return the index of the script that directly follows an interpreter, or of the module after `-m`, or None."""
    language = _language(base(texts[0]))
    if language is None:
        return None
    at = texts.index("-m") + 1 if language == "python" and "-m" in texts else 1
    return at if at < len(texts) and not texts[at].startswith("-") else None


def script_of(part: PlainCommand) -> str | None:
    """Return the script file that an interpreter or a shell runs, or None."""
    if _language(base(part.name)) is None and base(part.name) not in SHELLS:
        return None
    return next((word for word in part.texts[1:] if not word.startswith("-")), None) if "-m" not in part.texts else None


def unknown_word(part: PlainCommand) -> str | None:
    """Return which word of the command is unknown, in a sentence, or None."""
    for i, word in enumerate(part.words):
        if word.known and not word.pattern:
            continue
        if i == 0:
            return f"the program behind `{word.text}` is unknown"
        if word.pattern and _is_files(word, base(part.name)):
            continue
        if base(part.name) == "echo" and (word.echoable or word.pattern):
            continue
        return f"the value of `{word.text}` is unknown"
    return None


def _is_files(word: Word, name: str) -> bool:
    """Return whether the program treats the expanded file names as files, not as options or subcommands."""
    if name in WRITERS or name in PLACED:
        return False
    return re.match(r"[\w./]" if name in READERS else r"[\w.]*/", re.split(r"[*?\[]", word.text)[0]) is not None


def base(name: str) -> str:
    """Return the program's name without its folder."""
    return name.rpartition("/")[2]


def _language(name: str) -> str | None:
    plain = re.sub(r"[\d.]+$", "", name)
    plain = {"pypy": "python", "nodejs": "node", "luajit": "lua"}.get(plain, plain)
    return plain if plain in INTERPRETERS else None


def _interpreter_risk(part: PlainCommand, risky: frozenset[str]) -> str | None:
    name, given = part.name, part.texts[1:]
    if len(given) == 1 and given[0] in ("--version", "-V", "-v", "--help"):
        return None
    language = _language(base(name))
    is_python = language == "python"
    if language in ("deno", "bun") and (remote := next((word for word in given if "://" in word), None)):
        return f"`{name} {remote}`: it runs code from elsewhere"
    after_option = False
    for i, word in enumerate(given):
        if word == "-" or word.startswith(("/dev/", "/proc/")):
            return f"`{name}`: it runs code from its standard input"
        if is_python and word.startswith("-m"):
            module = word[2:] or "".join(given[i + 1 : i + 2])
            return f"`{name} -m {module}`: it runs other code that it is given" if module in PYTHON_CODE else None
        if _is_risky(word, risky, name):
            return f"`{name} {word}`: it runs code from the command line"
        if not word.startswith("-"):
            if not after_option:
                return None  # the script: the rest is its arguments
            after_option = False  # the option's value, or the script
        elif is_python and word in ("-W", "-X"):
            after_option = True
        elif is_python and not _PYTHON_PLAIN.fullmatch(word) and "=" not in word:
            return f"`{name} {word}`: this option is unknown"
        elif not is_python and "=" not in word:
            after_option = True
    if all(word.startswith("-") for word in given):
        return f"`{name}`: it runs code from its standard input"
    return None


def _is_risky(word: str, risky: frozenset[str], name: str) -> bool:
    """Return whether a word is one of these options, shortened (`--outp`), joined (`-ofile`), bundled (`-ro`)."""
    if not word.startswith("-") or word == "-":
        return word in risky
    option = word.partition("=")[0]
    if name in SINGLE_DASH and not word.startswith("--"):
        return option in risky or option.lstrip("-") in {r.lstrip("-") for r in risky if len(r) > 2}
    if word.startswith("--"):
        if name == "go" and option[1:] in risky:
            return True
        return any(r.startswith(option) for r in risky if r.startswith("--")) and option != "--"
    return any(r[1] in word[1:] for r in risky if len(r) == 2 and r != "--")


def _tar_risk(given: Sequence[str]) -> str | None:
    """Allow listing and packing with plain options. An unpacked archive decides itself which files change."""
    bundle = given[0] if given and not given[0].startswith("-") else ""  # its values are the next words, in order
    words = [*(f"-{letter}" for letter in bundle), *(word for word in given if word.startswith("-"))]
    if any(_is_risky(word, _UNPACKS, "tar") for word in words):
        return "`tar`: the archive decides which files change"
    if (unknown := unlisted("tar", words)) is not None:
        return f"`tar {unknown}`: this option is not known to be harmless"
    remote = next((word for word in given if ":" in word and "/" not in word.partition(":")[0]), None)
    return f"`tar {remote}`: it reaches another machine" if remote else None


def _sed_risk(part: PlainCommand) -> str | None:
    """Allow only printing lines by number, because a sed script can write files and run commands."""
    given = part.texts[1:]
    if part.piped or len(given) < 3 or given[0] != "-n" or not _PRINT.fullmatch(given[1]):
        return "`sed`: its script can write files and run commands"
    return "`sed`: it has more options" if any(word.startswith("-") for word in given[2:]) else None


def _git_risk(given: Sequence[str]) -> str | None:
    at = next((i for i, word in enumerate(given) if not word.startswith("-")), len(given))
    command = given[at] if at < len(given) else ""
    early = next((word for word in given[:at] if word not in GIT_BEFORE), None)
    if early is not None:
        return f"`git {early}`: before a command, this option is not known to be harmless"
    table = subcommands("git")
    if command and table is not None and command not in table.names:
        return f"`git {command}`: it may be an alias, which can run anything"
    quiet = GIT_EDITS.get(command)
    edits = command in GIT_MAY_EDIT and any(_is_risky(word, _EDITS, "git") for word in given[at + 1 :])
    if edits or (quiet is not None and not any(_is_risky(word, quiet, "git") for word in given[at + 1 :])):
        return f"`git {command}`: it opens an editor"
    if command in GIT_COMMANDS:
        return f"`git {command}`: it can change what git runs"
    if (remote := next((word for word in given if word.startswith("ext::")), None)) is not None:
        return f"`git {remote}`: it runs a program as the other end"
    for word in given[at + 1 :]:
        if word == "--":
            break
        if word.startswith("-") and len(word) > 1 and (why := _git_option_risk(command, word)) is not None:
            return f"`git {word}`: {why}"
    return None


def _git_option_risk(command: str, word: str) -> str | None:
    """Return why an option of a git command is not known to be harmless, or None."""
    if word.startswith("--"):
        name = word.partition("=")[0].removeprefix("--")
        is_risky = f"--{name}" in GIT_RISKY
        if not is_risky and (name in GIT_HARMLESS or name.removeprefix("no-") in GIT_HARMLESS):
            return None
        if _is_risky(word, GIT_RISKY, "git"):
            return "this option can run or write something"
        return "this option is not known to be harmless"
    flags, valued = GIT_LETTERS.get(command, ("", ""))
    for letter in word[1:]:
        if letter in valued:
            return None  # the rest is its value
        if letter not in flags and not letter.isdigit():
            return "this option can run or write something, or is unknown"
    return None


class _Launch(msgspec.Struct, frozen=True):
    """The position of a launched command in the words of a launcher."""

    at: int
    """The index of the word at which the launched command begins. It may be past the last word."""
    unknown: str | None = None
    """An unknown option, because of which the position is unknown too."""


def _launch(texts: Sequence[str]) -> _Launch | None:
    """Return where the launched command begins: in `uv -q run pytest`, at `pytest`.

    None: the program or its subcommand is not a launcher.
    """
    rows = launcher_rows().get(texts[0].rpartition("/")[2]) if texts else None
    found = [
        one for row in rows or [] for command in row.commands if (one := _launched_by(row, command.split(), texts))
    ]
    return next((one for one in found if one.unknown is None), found[0] if found else None)


def _launched_by(row: Launcher, command: Sequence[str], texts: Sequence[str]) -> _Launch | None:
    at, unknown = _after_options(texts, 1, row.before, row.before_valued) if command else (1, None)
    if unknown is not None:
        # `npm -s x`: after an unknown option, any later word may be the command.
        return _Launch(at, unknown) if any(word in texts[at:] for word in command[-1:]) else None
    for word in command:
        if texts[at : at + 1] != [word]:
            return None
        at, unknown = _after_options(texts, at + 1, row.flags, row.valued)
        if unknown is not None:
            return _Launch(at, unknown)
    if not command:
        at, unknown = _after_options(texts, at, row.flags, row.valued)
    return _Launch(at, unknown)


def _after_options(
    texts: Sequence[str], at: int, flags: Collection[str], valued: Collection[str]
) -> tuple[int, str | None]:
    """Return where the options end, and the first unknown option."""
    while at < len(texts) and texts[at].startswith("-"):
        word = texts[at]
        name, joined, _ = word.partition("=")
        if word == "--":
            return at + 1, None
        if (
            word in flags
            or (joined and name in valued)
            or (word[:2] in valued and not word.startswith("--") and word[2:])
        ):
            at += 1
        elif word in valued:
            at += 2
        else:
            return at, word
    return at, None
