"""The command lines that a `package.json` and a `Makefile` hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec


class _Package(msgspec.Struct):
    scripts: dict[str, str] = {}


def package_scripts(text: str, arguments: Sequence[str]) -> Iterator[str]:
    """The lines that `npm ARGUMENTS` runs by a package.json: the named script with its `pre` and `post`."""
    try:
        scripts = msgspec.json.decode(text.encode(), type=_Package).scripts
    except (msgspec.DecodeError, UnicodeEncodeError):
        return
    words = [word for word in arguments if not word.startswith("-")]
    name = words[1] if words[:1] in (["run"], ["run-script"]) and len(words) > 1 else next(iter(words), "test")
    for which in (f"pre{name}", name, f"post{name}"):
        if which in scripts:
            yield scripts[which]


_RULE = re.compile(r"^(?P<targets>[^\s#:=][^#:=]*?)\s*::?(?!=)\s*(?P<needs>[^#;]*)(;(?P<inline>.*))?")


def make_recipes(text: str, arguments: Sequence[str]) -> Iterator[str]:
    """The recipe lines that `make ARGUMENTS` runs: of the named targets, else of the first, and of what they need."""
    rules = _rules(text)
    wanted = [word for word in arguments if word in rules] or list(rules)[:1]
    done: set[str] = set()
    while wanted:
        target = wanted.pop(0)
        if target in done or target not in rules:
            continue
        done.add(target)
        needs, recipe = rules[target]
        wanted += needs
        yield from recipe


def _rules(text: str) -> dict[str, tuple[list[str], list[str]]]:
    """Target to (what it needs, its recipe's lines as bash would see them), in their order."""
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
    """Without `@`, `-` and `+` in front; `$$x` is bash's `$x`, and `$(X)` a variable of make's."""
    bare = re.sub(r"^[\s@+-]+", "", line)
    return re.sub(r"\$[({](\w+)[)}]", r"${\1}", bare.replace("$$", "\0")).replace("\0", "$")
