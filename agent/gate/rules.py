"""The person's rules: which drafts one speaks of, and how it reads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ..protocol import Rule
from ..shell.flags import is_launcher
from ..shell.line_reader import Part, read_line
from ..shell.match import Hit, hit

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
    first = part.words[: len(words)]
    if not words or [word.text for word in first if word.known and not word.pattern] != words:
        return False  # a word that is not known is never the rule's
    return not is_launcher(part.texts, len(words))


def speaks_of(rule: Rule, command: str, parts: Sequence[Part], paths: Sequence[str]) -> Hit:
    """How surely a deny or ask rule hits a part of the line (also behind options) or a file that the line names."""
    if rule.tool not in (None, "run_command"):
        return Hit.NO
    if rule.path is not None:
        return Hit.SURE if any(path_matches(rule, path) for path in paths) else Hit.NO
    if rule.command is None:
        return Hit.SURE
    words = words_of(rule.command)
    if not words:
        return Hit.SURE if rule.command in command else Hit.NO
    return max((hit(words, part) for part in parts), default=Hit.NO)


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


@lru_cache(maxsize=256)
def words_of(command: str) -> list[str]:
    """The words of a rule's command; none where it is more than one plain command."""
    line = read_line(command.strip().removesuffix(" *"))
    if line.doubts or line.writes or len(line.parts) != 1:
        return []
    return line.parts[0].texts


@lru_cache(maxsize=256)
def path_matches(rule: Rule, path: str) -> bool:
    """As in `.gitignore`: `*` stops at `/`, `**` does not, and a folder means all below it.

    `*.py` without a folder allows files of the workspace's root only, and denies them anywhere.
    """
    from pathspec import GitIgnoreSpec

    glob = (rule.path or "").lstrip("!")
    anchored = glob if glob.startswith("/") or rule.verdict != "allow" else f"/{glob}"
    return GitIgnoreSpec.from_lines([anchored]).match_file(path)
