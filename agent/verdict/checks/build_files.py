"""Read the command lines in a `package.json` and a `Makefile`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

import msgspec

from ...host.plain_files import read_plain
from ...protocol.text.broken_json import BROKEN_JSON

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
    patterns = {target: target.replace("%", "*") for target in rules if "%" in target}
    done: set[str] = set()
    while wanted:
        target = wanted.pop(0)
        if target in rules and target not in done:
            done.add(target)
            wanted += rules[target][0]
            yield target
        elif target not in rules:
            wanted += [each for each, glob in patterns.items() if "$" in target or fnmatchcase(target, glob)]


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
    there = folder_of_make(words)
    own = next((words[i + 1] for i in range(1, len(words) - 1) if words[i] in ("-f", "--file")), None)
    for file in (own,) if own else MAKEFILES:
        place = root / folder / there
        if text := _with_includes(build_file_text(place / file), place, _MOST_INCLUDED):
            yield _with_variables(text), folder / there


def folder_of_make(words: Sequence[str]) -> str:
    """Return the folder in which `make` runs: the value of `-C`."""
    for at, word in enumerate(words[1:], 1):
        if word.startswith("--directory="):
            return word.partition("=")[2]
        if re.fullmatch(r"-[a-zA-Z]*C|--directory", word) and at + 1 < len(words):
            return words[at + 1]
    return "."


_INCLUDE = re.compile(r"^ *-?s?include[ \t]+(.+)$", re.MULTILINE)
_VARIABLE = re.compile(r"^ *(?:export +|override +)?([\w.-]+)[ \t]*(?:::?|\?|\+)?=[ \t]*(.*)$", re.MULTILINE)
_FUNCTION = re.compile(r"\$[({](?:wildcard|sort|strip|abspath|realpath)\s+([^(){}$]*)[)}]")
_FOREACH = re.compile(r"\$[({]foreach\s+(\w+)\s*,([^(){}$,]*),((?:[^(){}]|\$[({][^(){}]*[)}])*)[)}]")
_BUILT_IN = {
    "CC": "cc",
    "CXX": "g++",
    "CPP": "cc -E",
    "FC": "f77",
    "AR": "ar",
    "AS": "as",
    "LD": "ld",
    "RM": "rm -f",
    **dict.fromkeys(("CFLAGS", "CXXFLAGS", "CPPFLAGS", "FFLAGS", "ASFLAGS", "LDFLAGS", "LDLIBS", "TARGET_ARCH"), ""),
}
"""Variables that make has without a makefile."""
_MOST_INCLUDED = 5
"""Most levels of files that include others."""


def _with_includes(text: str, place: Path, depth: int) -> str:
    """Return the makefile followed by those that it includes, as far as their names are known."""
    if depth == 0:
        return text
    names = [name for match in _INCLUDE.finditer(text) for name in match[1].split() if "$" not in name]
    parts = [text]
    for name in names:
        try:
            files = sorted(place.glob(name)) if "*" in name else [place / name]
        except (ValueError, NotImplementedError):
            continue
        parts += [_with_includes(build_file_text(file), place, depth - 1) for file in files]
    return "\n".join(parts)


def _with_variables(text: str) -> str:
    """Fill in the variables of a makefile whose values are known; `$(MAKE)` becomes `make`."""
    text = re.sub(r"\$[({]MAKE[)}]", "make", text.replace("\\\n", " "))
    for _ in range(4):
        values = dict[str, str]()
        for name, value in _VARIABLE.findall(text):
            values[name] = f"{values[name]} {value}" if name in values else value
        text = _FUNCTION.sub(lambda match: match[1], text)
        text = _FOREACH.sub(lambda match: re.sub(rf"\$[({{]{match[1]}[)}}]", match[2], match[3]), text)
        text = re.sub(r"\$[({]shell\s+([^(){}]*)[)}]", lambda match: f"$({match[1]})", text)
        values = {**_BUILT_IN, **values}
        known = {name: value.partition(" #")[0].strip() for name, value in values.items() if "$" not in value}
        text = re.sub(r"\$[({]([\w.-]+)[)}]", lambda match, known=known: known.get(match[1], match[0]), text)
    return text


def goals_of(words: Sequence[str], folder: PurePosixPath, root: Path) -> Iterator[str]:
    """Yield missing paths, relative to the workspace, that `make` would take for the result of a recipe."""
    for text, where in makefiles(words, folder, root):
        for goal in _goals(text, words[1:]):
            path = os.path.normpath(where / goal)
            if not path.startswith(("..", "/")) and not os.path.lexists(root / path):
                yield path


def build_file_text(path: Path) -> str:
    """Return the text of a regular file of at most 1 MB; empty if there is none."""
    try:
        return read_plain(path).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def _rules(text: str) -> dict[str, tuple[list[str], list[str]]]:
    """Return each target with its prerequisites and the lines of its recipe as bash would see them, in order."""
    rules: dict[str, tuple[list[str], list[str]]] = {}
    current: list[str] = []
    globs = re.findall(r"[\w./-]+\*[\w.*-]*", text)
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("\t"):
            for target in current:
                rules[target][1].extend(map(_as_bash, _with_needs(line, rules[target][0], globs).split("\n")))
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


def _with_needs(line: str, needs: Sequence[str], globs: Sequence[str]) -> str:
    """Fill in `$<` and `$^`, the first prerequisite and all of them. `globs`: of the makefile, for `%.ok: %.py`."""
    known = [glob for need in needs if "$" not in need for glob in _matched(need, globs)]
    firsts = _matched(needs[0], globs) if needs and "$" not in needs[0] else known[:1]
    if len(firsts) > 1 and re.search(r"\$<|\$\(<\)", line):
        return "\n".join(_with_needs(line, [first, *needs[1:]], ()) for first in firsts)
    line = re.sub(r"\$<|\$\(<\)", lambda match: firsts[0] if firsts else match[0], line)
    return re.sub(r"\$[\^+]|\$\([\^+]\)", lambda match: " ".join(known) or match[0], line)


def _matched(need: str, globs: Sequence[str]) -> list[str]:
    """Return what a prerequisite stands for: one with `%` for the globs that end as it does, and for itself."""
    before, percent, after = need.partition("%")
    found = [one for one in globs if percent and not before and one.endswith(f"*{after}")]
    return found or [need.replace("%", "*")]


def _as_bash(line: str) -> str:
    """Remove leading `@`, `-` and `+`; `$$x` is bash's `$x`, and `$(X)` a variable of make. `-` ignores a failure."""
    bare = re.sub(r"^[\s@+-]+", "", line)
    ignores = "-" in line[: len(line) - len(bare)]
    text = re.sub(r"\$[({](\w+)[)}]", r"${\1}", bare.replace("$$", "\0")).replace("\0", "$")
    return f"{text} || true" if ignores and text.strip() else text
