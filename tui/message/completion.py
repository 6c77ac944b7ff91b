"""Completions of a `/` command or an `@` file while it is typed. Does not import textual."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..keys.lookup import READ_ONLY_ACTIONS, slash_commands

MOST = 6
"""Number of suggestions that are shown."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One suggestion: its name, its description, and the text to insert."""

    label: str
    about: str
    insert: str
    runs: bool = False
    """It is a slash command that can be sent without arguments."""


@dataclass(frozen=True, slots=True)
class Completion:
    """Suggestions for the characters from `start` to the cursor, in the cursor's line."""

    start: int
    rows: Sequence[Suggestion]
    title: str = ""
    """A line above the rows."""


UserCommand = tuple[str, str, str]
"""Name, arguments and description of a slash command that a user wrote."""


def complete(
    before: str,
    *,
    first_line: bool,
    files: Sequence[str],
    acts: bool = True,
    user_commands: Callable[[], Sequence[UserCommand]] = tuple,
) -> Completion | None:
    """Return the completion for `before`, the line up to the cursor, or None if nothing can be completed.

    `acts`: the view can change the run. `user_commands`: called when a slash command is completed.
    """
    if first_line and before.startswith("/") and " " not in before:
        rows = [
            Suggestion(f"/{action.slash} {action.takes}".strip(), action.label, f"/{action.slash} ", runs=True)
            for action in slash_commands()
            if action.slash.startswith(before[1:]) and (acts or action.name in READ_ONLY_ACTIONS)
        ]
        if acts:
            rows += [
                Suggestion(f"/{name} {takes}".strip(), about, f"/{name} ", runs=not takes or takes.startswith("["))
                for name, takes, about in user_commands()
                if name.startswith(before[1:])
            ]
        rows.sort(key=lambda row: row.insert.strip() != before)  # the command whose full name is typed comes first
        return Completion(0, rows[:MOST]) if rows else None
    at = before.rfind("@")
    if at < 0 or (at > 0 and not before[at - 1].isspace()) or " " in before[at:]:
        return None
    rows = [Suggestion(path, "", _inserted(path)) for path in best(files, before[at + 1 :])]
    return Completion(at, rows) if rows else None


def _inserted(path: str) -> str:
    """Return the text for a path. An image keeps its `@`, which attaches it; other files are only named."""
    from rundry.agent import can_be_attached, mention_of

    return f"{mention_of(path) if can_be_attached(path) else path} "


def best(paths: Iterable[str], wanted: str, limit: int = MOST) -> list[str]:
    """Return the paths that contain the characters of `wanted` in order.

    Matches in the name come before those in the folder, contiguous ones before scattered ones, short paths before long
    ones.
    """
    wanted = wanted.lower()
    ranked = [(rank, len(path), path) for path in paths if (rank := _rank(path.lower(), wanted)) is not None]
    return [path for _, _, path in sorted(ranked)[:limit]]


def _rank(path: str, wanted: str) -> int | None:
    name = path.rsplit("/", 1)[-1]
    if name.startswith(wanted):
        return 0
    if wanted in name:
        return 1
    if wanted in path:
        return 2
    rest = iter(path)
    return 3 if all(character in rest for character in wanted) else None
