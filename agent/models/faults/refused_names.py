"""Find which parameters of a request a server refuses.

Providers word this in too many ways for a list of sentences. But the parameters that were sent are known: an error is
about one of them if it names it, in the error's fields (OpenAI's `param`, pydantic's `loc`) or in its sentences.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache

_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_BETWEEN = re.compile(r"[\W_]*(?:and|or)?[\W_]*", re.I)
"""What stands between two names of one list."""
_NUMBER = r"[`'\"]?(\d[\d,_]{0,11})(?!\.?\d)"
_LARGEST = re.compile(
    rf"(?:<=?|≤|>|at most|up to|at or below|no more than|(?:less|lower|smaller|fewer) than(?: or equal to)?|below|"
    rf"maximum(?: (?:value|of|is|allowed)){{0,3}}|limit(?: (?:of|is))?:?|[\[(]\d+,|"
    rf"range\D{{0,30}}\d+[^\d.;]{{0,30}}|between \d+ and)\s*{_NUMBER}(?P<open>\s*\(exclusive\))?",
    re.I,
)
"""The largest value that a server accepts."""
_TOO_SMALL = re.compile(r"\btoo (?:small|low)\b|\bbelow (?:the )?min|\bat least\b|>=|≥|\bgreater than\b", re.I)
_BELOW = re.compile(r"(?:than|below|<)$", re.I)


def refused_names(words: str, fields: Collection[str], sent: Mapping[str, Collection[str]]) -> list[str]:
    """Return the parameters that the error is about; empty if it does not name one.

    `words`: all sentences of the error. `fields`: the parameters that its fields name. `sent`: for each parameter the
    names and values with which it was sent, its own name first.
    """
    if named := [name for name, forms in sent.items() if any(_is_field(form, fields) for form in forms)]:
        return named
    if fields:
        return []  # it is about another part of the request
    found = sorted(
        (match.start(), match.end(), name)
        for name, forms in sent.items()
        for form in forms
        if (match := _mention(form).search(words)) is not None
    )
    # Sentences also name the cause or a way out ("when thinking is enabled"), so only the first name, or list, counts.
    names: list[str] = []
    end = 0
    for start, until, name in found:
        if names and start >= end and _BETWEEN.fullmatch(words[end:start]) is None:
            break
        names += [name] if name not in names else []
        end = max(end, until)
    return names


def largest_accepted(words: str, refused: int) -> int | None:
    """Return the largest value that an error names for a limit, if it is smaller than the refused one."""
    found: list[int] = []
    for match in _LARGEST.finditer(words):
        value = int(re.sub(r"[,_]", "", match[1]))
        is_open = match["open"] or _BELOW.search(words[: match.start(1)].rstrip(" `'\""))
        found.append(value - 1 if is_open else value)
    return max((value for value in found if 0 < value < refused), default=None)


def _is_field(form: str, fields: Collection[str]) -> bool:
    return any(field == form or field.startswith((f"{form}.", f"{form}[")) for field in fields)


def is_too_small(words: str) -> bool:
    """Return whether the error is about a value below a minimum."""
    return _TOO_SMALL.search(words) is not None


@cache
def _mention(form: str) -> re.Pattern[str]:
    """Return the pattern of a name in a sentence. An ordinary word counts only where it is used as a name."""
    parts = _PART.findall(form)
    word = r"[_ .-]?".join("max(?:imum)?" if part.lower() == "max" else re.escape(part) for part in parts)
    if len(parts) > 1:
        return re.compile(rf"(?<![A-Za-z0-9_]){word}(?![A-Za-z0-9_])", re.I)
    return re.compile(
        rf"[\"'`\[(]{word}(?:[.\[][^\"'`]*)?[\"'`\])]|"
        rf"\b{word}\s*:|\b{word}\.[a-z_]+\b|"
        rf"\b(?:parameters?|fields?|arguments?|options?|propert(?:y|ies))\W{{1,3}}{word}\b|"
        rf"\b{word}\W{{1,2}}(?:parameter|field|argument|option|property|setting|value|level|is|are|must|may|can|cannot|"
        rf"should|does|not)\b|"
        rf"\b(?:supports?|supported|accepts?|allows?|unknown|unsupported|invalid|unexpected|unrecognized|extra|custom)"
        rf"\W{{1,3}}{word}\b",
        re.I,
    )
