"""The person's rules: which drafts one speaks of, and how it reads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ..protocol import Rule
from .flags import base, hides, is_launcher
from .shell import Part, read_line

_GLOB = "\\*?[]! "


def rule_text(rule: Rule) -> str:
    """The rule as a person reads it before it is written: `allow run_command: pytest -q`."""
    what = rule.command if rule.command is not None else rule.path
    return f"{rule.verdict} {': '.join(part for part in (rule.tool, what) if part is not None)}".rstrip()


def for_file(rule: Rule, tool: str, paths: Sequence[str]) -> bool:
    """The rule speaks of this tool on one of these paths (as given, and with links followed)."""
    if rule.command is not None:
        return False
    if rule.tool is None and rule.path is None:
        return rule.verdict != "allow"  # an empty rule restricts, it never opens
    if rule.tool not in (None, tool):
        return False
    return rule.path is None or any(path_matches(rule, path) for path in paths)


def allows_part(rule: Rule, part: Part) -> bool:
    """An allow rule for commands that covers this plain command: its words stand first and reach what runs."""
    if rule.verdict != "allow" or rule.path is not None or rule.tool not in (None, "run_command"):
        return False
    if rule.command is None:
        return rule.tool == "run_command"
    words = words_of(rule.command)
    return bool(words) and part.texts[: len(words)] == words and not is_launcher(part.texts, len(words))


def speaks_of(rule: Rule, command: str, parts: Sequence[Part], paths: Sequence[str]) -> bool:
    """A deny or ask rule that hits a part of the line, also behind options or another folder, or a file it names."""
    if rule.tool not in (None, "run_command"):
        return False
    if rule.path is not None:
        return any(path_matches(rule, path) for path in paths)
    if rule.command is None:
        return True
    words = words_of(rule.command)
    if not words:
        return rule.command in command
    return any(_hits(words, part.texts[at:]) for part in parts for at in _beginnings(part))


def exact_file_rule(tool: str, path: str) -> Rule:
    """The rule that `always` writes for a file: this tool, this path."""
    plain = "".join(f"\\{sign}" if sign in _GLOB else sign for sign in path)
    return Rule(verdict="allow", tool=tool, path=plain)


def command_rule(part: Part) -> Rule:
    """The rule that `always` writes for a plain command: these words, and what may follow them."""
    return Rule(verdict="allow", tool="run_command", command=" ".join(quoted(text) for text in part.texts))


def quoted(text: str) -> str:
    """The word as bash reads it back."""
    import shlex

    return shlex.quote(text)


def _beginnings(part: Part) -> range:
    """Where in the part a command may begin: behind a program that runs others it may be anywhere."""
    runs_others = hides(part) is not None or is_launcher(part.texts, 0)
    return range(len(part.words) if runs_others else 1)


@lru_cache(maxsize=256)
def words_of(command: str) -> list[str]:
    """The words of a rule's command; none where it is more than one plain command."""
    line = read_line(command.strip().removesuffix(" *"))
    if line.doubts or line.writes or len(line.parts) != 1:
        return []
    return line.parts[0].texts


def _hits(words: Sequence[str], given: Sequence[str]) -> bool:
    """The words come in this order; between them stand only options and an option's value."""
    if not given or base(given[0]) != base(words[0]):
        return False
    at = 1
    for word in words[1:]:
        skipped = False
        while at < len(given) and given[at] != word:
            if not given[at].startswith("-") and not skipped:
                return False
            skipped = given[at].startswith("-")
            at += 1
        if at == len(given):
            return False
        at += 1
    return True


@lru_cache(maxsize=256)
def path_matches(rule: Rule, path: str) -> bool:
    """As in `.gitignore`: `*` stops at `/`, `**` does not, and a folder means all below it.

    `*.py` without a folder allows files of the workspace's root only, and denies them anywhere.
    """
    from pathspec import GitIgnoreSpec

    glob = (rule.path or "").lstrip("!")
    anchored = glob if glob.startswith("/") or rule.verdict != "allow" else f"/{glob}"
    return GitIgnoreSpec.from_lines([anchored]).match_file(path)
