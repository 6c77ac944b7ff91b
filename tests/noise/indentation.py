"""Mistakes of indentation."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from .intents import indent_of
from .texts import Edits, Texts, common, cut, each, rows, sides


def bare(rows: Sequence[str]) -> list[str]:
    return each(rows, lambda row: row.lstrip(" \t"))


def first_bare(rows: Sequence[str]) -> list[str]:
    return [rows[0].lstrip(" \t"), *rows[1:]] if rows else []


def dedent(texts: Texts, rng: random.Random) -> Edits | None:
    white = common([*texts.old, *texts.new])
    return texts.sent(cut(texts.old, white), cut(texts.new, white)) if white else None


def dedent_each(texts: Texts, rng: random.Random) -> Edits | None:
    if not common(texts.old) or texts.intent.name in ("wrap", "indent", "unwrap", "delete"):  # another good edit
        return None
    return sides(texts, lambda rows: cut(rows, common(rows)))


def dedent_old(texts: Texts, rng: random.Random) -> Edits | None:
    return texts.sent(cut(texts.old, common(texts.old))) if common(texts.old) else None


def dedent_new(texts: Texts, rng: random.Random) -> Edits | None:
    white = common(texts.new)
    return texts.sent(None, cut(texts.new, white)) if white and common(texts.old) else None


def flat(texts: Texts, rng: random.Random) -> Edits | None:
    """All indentation is lost; rows of one level stay on one level."""
    levels = [len({indent_of(row) for row in rows if row.strip()}) for rows in (texts.old, texts.new)]
    if levels[0] == 1 and levels[1] > 1:
        return None
    return rows(bare)(texts, rng)


def shift(texts: Texts, rng: random.Random) -> Edits:
    white = rng.choice(["  ", "    ", "\t", "        ", " "])
    return texts.sent(each(texts.old, lambda row: white + row), each(texts.new, lambda row: white + row))


def shift_old(texts: Texts, rng: random.Random) -> Edits:
    return texts.sent(each(texts.old, lambda row: "    " + row))


def shift_part(texts: Texts, rng: random.Random) -> Edits | None:
    white = common([*texts.old, *texts.new])
    part = white[: rng.randrange(1, len(white))] if len(white) > 1 else ""
    return texts.sent(cut(texts.old, part), cut(texts.new, part)) if part else None


def spaces(row: str) -> str:
    return re.sub(r"^[ \t]+", lambda found: found[0].replace("\t", "    "), row)


def tabs(row: str) -> str:
    return re.sub(r"^(?: {4})+", lambda found: "\t" * (len(found[0]) // 4), row)


def halved(texts: Texts, rng: random.Random) -> Edits | None:
    indents = {indent_of(row) for row in [*texts.old, *texts.new] if row.strip()}
    if not any(indent_of(row) for row in texts.old if row.strip()) or any(
        "\t" in indent or len(indent) % 4 for indent in indents
    ):
        return None
    return sides(texts, lambda rows: [row[len(indent_of(row)) // 2 :] if row.strip() else row for row in rows])


def plus_row(texts: Texts, rng: random.Random) -> Edits | None:
    """Only some rows lack their indentation."""
    if len(texts.old) < 3 or not common(texts.old):
        return None
    at = rng.randrange(1, len(texts.old))
    return texts.sent([*texts.old[:at], texts.old[at].lstrip(" \t"), *texts.old[at + 1 :]])
