"""Compare the person's rules with drafts, and print them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from ..host.files.git_patterns import git_spec
from ..protocol import Rule
from ..shell.command_prefix import prefix_words
from ..shell.flags import is_launcher
from ..shell.line_parser import parse_line
from ..shell.rule_matches import Hit, hit

if TYPE_CHECKING:
    from ..shell.command_line import PlainCommand

_GLOB = "\\*?[]! "


def rule_text(rule: Rule) -> str:
    """Return the rule as one line for a person, such as `allow run_command: pytest -q`."""
    what = rule.command or rule.host or rule.path
    tool = "requests to" if rule.tool is None and rule.host is not None else rule.tool
    return f"{rule.verdict} {': '.join(part for part in (tool, what) if part is not None)}".rstrip()


def applies_to_file(rule: Rule, tool: str, paths: Sequence[str]) -> bool:
    """Return whether the rule names this tool on one of these paths (as given, and with links followed)."""
    if rule.command is not None or rule.host is not None:
        return False
    if rule.tool is None and rule.path is None:
        return rule.verdict != "allow"  # an empty rule may restrict, but never allow
    if rule.tool not in (None, tool):
        return False
    return rule.path is None or any(path_matches(rule, path) for path in paths)


def allows_part(rule: Rule, part: PlainCommand) -> bool:
    """Return whether an allow rule covers this plain command.

    The command must begin with the rule's words, and these must include the program that finally runs.
    """
    if rule.verdict != "allow" or rule.path is not None or rule.tool not in (None, "run_command"):
        return False
    if rule.command is None:
        return rule.tool == "run_command"
    words = words_of_rule(rule.command)
    first = part.words[: len(words)]
    if not words or [word.text for word in first if word.known and not word.pattern] != words:
        return False  # an unknown word never matches the rule
    return not is_launcher(part.texts, len(words))


def match_command(rule: Rule, command: str, parts: Sequence[PlainCommand], paths: Sequence[str]) -> Hit:
    """Return whether a deny or ask rule matches a part of the line (ignoring options) or a file that the line names."""
    if rule.tool not in (None, "run_command") or rule.host is not None:
        return Hit.NO
    if rule.path is not None:
        return Hit.SURE if any(path_matches(rule, path) for path in paths) else Hit.NO
    if rule.command is None:
        return Hit.SURE
    words = words_of_rule(rule.command)
    if not words:
        return Hit.SURE if rule.command in command else Hit.NO
    return max((hit(words, part) for part in parts), default=Hit.NO)


def exact_file_rule(tool: str, path: str) -> Rule:
    """Return the rule that `always` writes for a file: this tool and this path."""
    plain = "".join(f"\\{character}" if character in _GLOB else character for character in path)
    return Rule(verdict="allow", tool=tool, path=plain)


def run_rule(rule: Rule) -> Rule:
    """Return the rule that allows the same for the rest of the run: edits of the path with any tool, or the command."""
    return rule if rule.path is None else Rule(verdict="allow", path=rule.path)


class RuleOffer(msgspec.Struct, frozen=True, kw_only=True):
    """The rules that a person can add when they approve a proposal. All rules of one list are added together."""

    rules: list[Rule] = []
    """They allow exactly this: these files, or each command with all its words (and any that follow). The list is empty
    if no rules could."""
    prefixes: list[Rule] = []
    """They allow also other arguments of these commands. The list is empty if no rules could, and if they are the same
    as `rules`."""


_MOST_RULES = 5
"""Rules that are offered together, so that all of them can be read before they are added."""
NO_RULES = RuleOffer()


def offer_for_commands(parts: Sequence[PlainCommand]) -> RuleOffer:
    """Return the rules that together allow these commands: one for each, with all its words or with its prefix."""
    exact = [_rule_that_allows(part, part.texts if part.is_known else []) for part in parts]
    wider = [_rule_that_allows(part, prefix_words(part)) or own for part, own in zip(parts, exact, strict=True)]
    rules, prefixes = _all_or_none(exact), _all_or_none(wider)
    return RuleOffer(rules=rules, prefixes=[] if prefixes == rules else prefixes)


def _rule_that_allows(part: PlainCommand, words: Sequence[str]) -> Rule | None:
    rule = Rule(verdict="allow", tool="run_command", command=shlex.join(words))
    return rule if words and allows_part(rule, part) else None


def _all_or_none(rules: Sequence[Rule | None]) -> list[Rule]:
    found = list(dict.fromkeys(rule for rule in rules if rule is not None))
    return found if None not in rules and len(found) <= _MOST_RULES else []


@lru_cache(maxsize=256)
def words_of_rule(command: str) -> list[str]:
    """Return the words of a rule's command; empty if it is more than one plain command."""
    line = parse_line(command.strip().removesuffix(" *"))
    if line.doubts or line.writes or len(line.parts) != 1:
        return []
    return line.parts[0].texts


@lru_cache(maxsize=256)
def path_matches(rule: Rule, path: str) -> bool:
    """Return whether the path matches as in `.gitignore`: `*` stops at `/`, `**` does not, a folder includes all in it.

    `*.py` without a folder allows only files in the workspace's root, but denies them anywhere.
    """
    glob = (rule.path or "").lstrip("!")
    anchored = glob if glob.startswith("/") or rule.verdict != "allow" else f"/{glob}"
    return git_spec([anchored]).match_file(path)


def denial_of(rules: Sequence[Rule], tool: str, paths: Sequence[str]) -> str | None:
    """Describe the rule that denies these paths (as given, and with links followed) to a reading tool.

    Returns None if no rule does. Without paths, only a rule for the whole tool counts.
    """
    for rule in rules:
        if rule.verdict != "deny" or rule.command or rule.host or rule.tool not in (None, tool):
            continue
        is_whole = rule.path is None and rule.tool is not None
        if is_whole or (rule.path is not None and any(path_matches(rule, path) for path in paths)):
            return f"a rule refuses it: {rule_text(rule)}"
    return None
