"""Mistakes of characters: quotes, escapes, fences, and texts that are cut."""

from __future__ import annotations

import json
import random
import re

from .texts import Edits, Kind, Texts, rows


def plain(row: str) -> str:
    return row.translate(str.maketrans({"\u2019": "'", "\u201c": '"', "\u2014": "-", "\xa0": " "}))


def curly(row: str) -> str:
    return row.replace("'", "\u2019").replace('"', "\u201d")


def escapes(which: str) -> Kind:
    def send(texts: Texts, rng: random.Random) -> Edits | None:
        ((old, new),) = texts.sent()
        if which == "new" and "\n" not in new.rstrip("\n"):
            return None
        hard = rng.random() < 0.5

        def escape(text: str) -> str:
            return json.dumps(text, ensure_ascii=False)[1:-1] if hard else text.replace("\n", "\\n")

        return [(escape(old) if which != "new" else old, escape(new) if which != "old" else new)]

    return send


def quotes(texts: Texts, rng: random.Random) -> Edits | None:
    return rows(lambda rows: [row.replace('"', '\\"') for row in rows])(texts, rng)


def fences(which: str) -> Kind:
    def send(texts: Texts, rng: random.Random) -> Edits | None:
        ((old, new),) = texts.sent()
        word = rng.choice(["", "python", "js"])
        if not texts.new or not texts.new[-1].strip():
            return None

        def fence(text: str) -> str:
            return f"```{word}\n{text.rstrip(chr(10))}\n```{texts.end}"

        return [(fence(old) if which != "new" else old, fence(new) if which != "old" else new)]

    return send


def cut_first(which: str) -> Kind:
    def send(texts: Texts, rng: random.Random) -> Edits | None:
        ((old, new),) = texts.sent()
        shared = 0
        while shared < min(len(texts.old[0]), len(new)) and old[shared] == new[shared]:
            shared += 1
        words = [found.end() for found in re.finditer(r"[^\w\s]|\s+", texts.old[0][:shared])]
        at = rng.choice(words) if words and rng.random() < 0.7 else rng.randrange(shared) if shared else 0
        return [(old[at:], new[at:] if which == "both" else new)] if at and old[at:].strip() else None

    return send


def cut_last(which: str) -> Kind:
    def send(texts: Texts, rng: random.Random) -> Edits | None:
        old, new = "\n".join(texts.old), "\n".join(texts.new)
        shared = 0
        while shared < min(len(texts.old[-1]), len(new)) and old[-1 - shared] == new[-1 - shared]:
            shared += 1
        at = rng.randrange(1, shared + 1) if shared else 0
        if which == "old":
            whole = len(texts.old) > 1 or texts.old[-1] in texts.new  # else it is an edit of a part of a row
            at = rng.randrange(1, len(texts.old[-1])) if len(texts.old[-1]) > 1 and whole else 0
        cut = new[:-at] if which == "both" else new
        if (
            not at
            or not old[-at:].strip()
            or not old[:-at].strip()
            or not old[:-at].split("\n")[-1].strip()
            or not cut.split("\n")[-1].strip()
        ):
            return None
        return [(old[:-at], cut)]

    return send


def twice(texts: Texts, rng: random.Random) -> Edits:
    return texts.sent() * 2


def spaced(row: str) -> str:
    body = row.lstrip(" \t")
    return row[: len(row) - len(body)] + re.sub(r" {2,}", " ", body)


def wrong_sign(texts: Texts, rng: random.Random) -> Edits | None:
    """Old text that was remembered wrongly in one character of one row."""
    at = rng.randrange(len(texts.old))
    body = texts.old[at].strip(" \t")
    if len(body) < 4:
        return None
    where = texts.old[at].index(body) + rng.randrange(len(body) - 1)
    row = texts.old[at][:where] + rng.choice("qzX9") + texts.old[at][where + 1 :]
    return texts.sent([*texts.old[:at], row, *texts.old[at + 1 :]]) if row != texts.old[at] else None
