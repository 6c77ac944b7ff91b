"""Recognize a single word that is probably a command, so that no session opens with it as its task."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

_RUN_ID = re.compile(r"\d{8}-\d{6}-[0-9a-z]{3,5}")
_KEYS = "set your provider's key as an environment variable; `rundry models --all` names it"
_RUNS = "`rundry runs` lists the runs"
_UPDATE = "use the tool that installed it, for example `pipx upgrade rundry` or `uv tool upgrade rundry`"
_NEW = "`rundry` opens a new session"
_CONFIG = "`rundry config` shows the settings"
OTHERS: Mapping[str, str] = {
    "login": _KEYS,
    "logout": _KEYS,
    "signin": _KEYS,
    "auth": _KEYS,
    "ls": _RUNS,
    "list": _RUNS,
    "ps": _RUNS,
    "logs": _RUNS,
    "history": _RUNS,
    "status": _RUNS,
    "session": _RUNS,
    "sessions": _RUNS,
    "attach": "`rundry watch` shows a run",
    "exec": '`rundry -p "TASK"` prints the answer',
    "print": '`rundry -p "TASK"` prints the answer',
    "continue": "`rundry -c` continues the newest run of this folder",
    "chat": _NEW,
    "new": _NEW,
    "start": _NEW,
    "tui": _NEW,
    "version": "`rundry --version` prints it",
    "update": _UPDATE,
    "upgrade": _UPDATE,
    "init": _CONFIG,
    "settings": _CONFIG,
    "configure": _CONFIG,
    "setup": "`rundry doctor` reports what is set up",
}
"""Commands of comparable programs, with what does the same here."""
_NOT_HERE = ("serve", "server", "plugin", "plugins", "agents", "usage", "rm", "delete", "remove", "install")
"""Commands of comparable programs for which there is no replacement."""


def near_command(word: str, commands: Collection[str]) -> str | None:
    """Return the command that `word` is a mistyped form of, or None.

    One mistake is allowed, and two from six letters on. The first letter must be right or missing: `watc` is `watch`,
    but `patch` and `hey` are tasks.
    """
    from rapidfuzz.distance import OSA  # only needed for a word that is not a command

    given = word.casefold()
    best: tuple[int, str] | None = None
    for command in commands:
        off = OSA.distance(given, command)
        begins_alike = given[:1] == command[0] or given == command[1:] or given[:2] == command[1::-1]
        is_short = len(given) >= 4 and command.startswith(given)
        most = 2 if min(len(given), len(command)) >= 6 else 1
        if is_short or (begins_alike and off <= most):
            best = min(best or (off, command), (off, command))
    return best[1] if best is not None else None


def parse_problem(word: str, commands: Collection[str]) -> str | None:
    """Return why this only word of a command line is not a task, and what to type instead, or None if it is a task."""
    if not word or any(map(str.isspace, word)) or word == "-":
        return None
    as_task = f'To use the word as a task: rundry run "{word}"'
    if near := near_command(word, commands):
        return f'"{word}" is not a command: did you mean `rundry {near}`? {as_task}'
    if other := OTHERS.get(word.casefold()):
        return f'"{word}" is not a command: {other}. {as_task}'
    if word.casefold() in _NOT_HERE:
        return f'"{word}" is not a command: `rundry help` lists all commands. {as_task}'
    if word in (".", "..") or word.endswith("/"):
        return f'"{word}" is a folder, not a task: `rundry --cwd {word}` opens the session there'
    if _RUN_ID.fullmatch(word.removesuffix(".db")):
        return f'"{word}" is a run, not a task: use `rundry watch {word}` or `rundry resume {word}`'
    return _on_screen(word, as_task)


def _on_screen(word: str, as_task: str) -> str | None:
    """Return the answer for a verb of `rundry ctl`, or for a command that is typed on the screen."""
    from ..keys.lookup import parse_slash
    from .verbs import VERBS

    if word in VERBS:
        return f'"{word}" is not a command: use `rundry ctl {word}`. {as_task}'
    if word.startswith("/") and parse_slash(word)[0] is not None:
        return f'"{word}" is a command of the screen: open it with `rundry`, then type {word}'
    return None
