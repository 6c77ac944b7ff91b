"""Read the command lines in a `package.json` and a `Makefile`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from ..protocol.text.broken_json import BROKEN_JSON
from ..system.plain_files import read_plain

MAKEFILES = ("Makefile", "makefile", "GNUmakefile")


class _Package(msgspec.Struct):
    scripts: dict[str, str] = {}


def package_scripts(text: str, arguments: Sequence[str]) -> Iterator[str]:
    """Return the lines that `npm ARGUMENTS` runs: the named script with its `pre` and `post`."""
    try:
        scripts = msgspec.json.decode(text.encode(), type=_Package).scripts
    except (*BROKEN_JSON, UnicodeEncodeError):
        return
    words = [word for word in arguments if not word.startswith("-")]
    name = words[1] if words[:1] in (["run"], ["run-script"]) and len(words) > 1 else next(iter(words), "test")
    for which in (f"pre{name}", name, f"post{name}"):
        if which in scripts:
            yield scripts[which]


_PHONY = re.compile(r"^\.PHONY\s*:+([^#\n]*)", re.MULTILINE)
_RULE = re.compile(r"^(?P<targets>[^\s#:=][^#:=]*?)\s*::?(?!=)\s*(?P<needs>[^#;]*)(;(?P<inline>.*))?")


def make_recipes(text: str, arguments: Sequence[str]) -> Iterator[str]:
    """Return the recipe lines that `make ARGUMENTS` runs, for the named targets or the first one, and their
    prerequisites.
    """
    rules = _rules(text)
    for target in _wanted(rules, arguments):
        yield from rules[target][1]


def _wanted(rules: dict[str, tuple[list[str], list[str]]], arguments: Sequence[str]) -> Iterator[str]:
    """Yield the targets with a rule that are run, each once."""
    wanted = [word for word in arguments if word in rules] or list(rules)[:1]
    done: set[str] = set()
    while wanted:
        target = wanted.pop(0)
        if target not in done and target in rules:
            done.add(target)
            wanted += rules[target][0]
            yield target


def _goals(text: str, arguments: Sequence[str]) -> Iterator[str]:
    """Yield targets that `make ARGUMENTS` runs and does not create: a file of that name would count as their result."""
    rules = _rules(text)
    phony = {name for match in _PHONY.finditer(text.replace("\\\n", " ")) for name in match[1].split()}
    for target in _wanted(rules, arguments):
        recipe = "\n".join(rules[target][1])
        is_made = re.search(rf"\$@|\$\(@|(^|[\s/'\"=]){re.escape(target)}($|[\s'\";])", recipe, re.MULTILINE)
        if target not in phony and not is_made and not re.search(r"[%$(]", target):
            yield target


def makefiles(words: Sequence[str], folder: PurePosixPath, root: Path) -> Iterator[tuple[str, PurePosixPath]]:
    """Yield the texts that `make` reads when started in `folder`, and where it runs; nothing for other programs."""
    if words[0].rpartition("/")[2] not in ("make", "gmake"):
        return
    there = next((words[i + 1] for i in range(1, len(words) - 1) if words[i] == "-C"), ".")
    own = next((words[i + 1] for i in range(1, len(words) - 1) if words[i] in ("-f", "--file")), None)
    for file in (own,) if own else MAKEFILES:
        if text := read_text(root / folder / there / file):
            yield text, folder / there


def goals_of(words: Sequence[str], folder: PurePosixPath, root: Path) -> Iterator[str]:
    """Yield missing paths, relative to the workspace, that `make` would take for the result of a recipe."""
    for text, where in makefiles(words, folder, root):
        for goal in _goals(text, words[1:]):
            path = os.path.normpath(where / goal)
            if not path.startswith(("..", "/")) and not os.path.lexists(root / path):
                yield path


def read_text(path: Path) -> str:
    """Return the text of a regular file of at most 1 MB; empty if there is none."""
    try:
        return read_plain(path).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def _rules(text: str) -> dict[str, tuple[list[str], list[str]]]:
    """Return each target with its prerequisites and the lines of its recipe as bash would see them, in order."""
    rules: dict[str, tuple[list[str], list[str]]] = {}
    current: list[str] = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("\t"):
            for target in current:
                rules[target][1].append(_as_bash(line))
        elif match := _RULE.match(line):
            current = [t for t in match["targets"].split() if not re.fullmatch(r"\.[A-Z_]+", t)]
            for target in current:
                needs, recipe = rules.setdefault(target, ([], []))
                needs += match["needs"].split()
                if match["inline"]:
                    recipe.append(_as_bash(match["inline"]))
        elif line.strip() and not line.lstrip().startswith("#"):
            current = []
    return rules


def _as_bash(line: str) -> str:
    """Remove leading `@`, `-` and `+`; `$$x` is bash's `$x`, and `$(X)` a variable of make. `-` ignores a failure."""
    bare = re.sub(r"^[\s@+-]+", "", line)
    ignores = "-" in line[: len(line) - len(bare)]
    text = re.sub(r"\$[({](\w+)[)}]", r"${\1}", bare.replace("$$", "\0")).replace("\0", "$")
    return f"{text} || true" if ignores and text.strip() else text
