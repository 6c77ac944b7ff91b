"""Find the command that a launcher runs: in `uv -q run pytest`, it begins at `pytest`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from .table import Launcher, launcher_rows


class Launch(msgspec.Struct, frozen=True):
    """The position of a launched command in the words of a launcher."""

    at: int
    """The index of the word at which the launched command begins. It may be past the last word."""
    unknown: str | None = None
    """An unknown option, because of which the position is unknown too."""


def launch(texts: Sequence[str]) -> Launch | None:
    """Return where the launched command begins; None: the program or its subcommand is not a launcher."""
    rows = launcher_rows().get(texts[0].rpartition("/")[2]) if texts else None
    found = [one for row in rows or [] for command in row.commands if (one := _by(row, command.split(), texts))]
    return next((one for one in found if one.unknown is None), found[0] if found else None)


def _by(row: Launcher, command: Sequence[str], texts: Sequence[str]) -> Launch | None:
    at, unknown = _skipped(texts, 1, row.before, row.before_valued) if command else (1, None)
    if unknown is not None:
        # `npm -s x`: after an unknown option, any later word may be the command.
        return Launch(at, unknown) if any(word in texts[at:] for word in command[-1:]) else None
    for word in command:
        if texts[at : at + 1] != [word]:
            return None
        at, unknown = _skipped(texts, at + 1, row.flags, row.valued)
        if unknown is not None:
            return Launch(at, unknown)
    if not command:
        at, unknown = _skipped(texts, at, row.flags, row.valued)
    return Launch(at, unknown)


def _skipped(texts: Sequence[str], at: int, flags: Collection[str], valued: Collection[str]) -> tuple[int, str | None]:
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
