"""Normalise actions, results and texts for comparison, without parts that change by themselves."""

from __future__ import annotations

import hashlib
import json
import re
from typing import cast

from ...host.terminal_text import plain
from ...protocol.text.shorten_text import end_cut

LABEL = 100
"""Characters of a label of a stall."""
_EXPLAINING = frozenset({"reason", "explanation", "thought", "rationale", "purpose", "why", "justification", "intent"})
"""Arguments that explain a call and do not change what it does."""
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_Marks = tuple[tuple[re.Pattern[str], str], ...]


def _marks(*patterns: tuple[str, str]) -> _Marks:
    return tuple((re.compile(pattern), mark) for pattern, mark in patterns)


_OF_ONE_RUN = _marks(
    (r"\b\d+m ?\d+(?:\.\d+)?s\b", "<span>"),
    (r"\b\d+(?:\.\d+)? ?(?:ns|us|µs|ms|s|secs?|seconds?|mins?|minutes?)\b", "<span>"),
    (r"\b(duration_ms:? )\d+(?:\.\d+)?", r"\1<span>"),  # node --test
    (r"\b0x[0-9a-fA-F]{4,}\b", "<address>"),
    (r"\b(pid|PID|process|Process|thread|Thread)([ =:#(]*)\d+", r"\1\2<pid>"),
    (r"\bpytest-\d+\b", "<temp>"),
    (r"/var/folders/[^/\s]+/[^/\s]+/T/", "/tmp/"),
    (r"\btmp[._-]?[A-Za-z0-9_]{6,12}\b", "<temp>"),
    (r"(/tmp/[^\s/'\"]*?)\.[A-Za-z0-9]{6,12}(?=[/\s'\"]|$)", r"\1.<temp>"),
)
"""Durations, addresses, process ids and temporary names: no value that a program computes."""
_VOLATILE = _marks(
    (r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b", "<uuid>"),
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z| ?[+-]\d\d:?\d\d)?", "<time>"),
    (rf"\b{_DAY} (?:{_MONTH} +\d{{1,2}}|\d{{1,2}} {_MONTH})(?:,? \d{{4}})?\b", "<day>"),
    (r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b(?: (?:AM|PM))?(?: [A-Z]{3,4} \d{4})?", "<time>"),
    (r"\b(127\.0\.0\.1|localhost|0\.0\.0\.0|\[::1\]):\d+", r"\1:<port>"),
    (r"\[\d+\]", "[<number>]"),
    (r"\b1[5-9]\d{8}(?:\d{3})?(?:\.\d+)?\b", "<time>"),
    (r"\b\d{8}T\d{6}Z?\b", "<time>"),
    (r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{16,64}\b", "<id>"),
    (r"\b(request|req|trace|span|job|task|run|session|build)([ _-]?id)?([ =:#]+)[\w-]*\d[\w-]*", r"\1\2\3<id>"),
    (r"\b(port|PORT)([ =:]+)\d{4,5}\b", r"\1\2<port>"),
)


def without_volatile(text: str) -> str:
    """Return a result without times, process ids, addresses, temporary names, colours and overwritten lines."""
    return collapse_spaces(_marked(plain(text), (*_VOLATILE, *_OF_ONE_RUN)))


def without_traces_of_run(text: str) -> str:
    """Return an output without durations, addresses, process ids and temporary names. All other values stay."""
    return _marked(text, _OF_ONE_RUN)


def _marked(text: str, marks: _Marks) -> str:
    for pattern, mark in marks:
        text = pattern.sub(mark, text)
    return text


def collapse_spaces(text: str) -> str:
    """Replace each sequence of white space by one space."""
    return " ".join(text.split())


def plain_words(text: str) -> str:
    """Return the words of a text in lower case, without punctuation."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def canonical(arguments: object) -> str:
    """Return the arguments as one text: keys sorted, white space normalised, without explanations."""
    if isinstance(arguments, dict):
        named = cast("dict[str, object]", arguments)
        arguments = {key: value for key, value in named.items() if key not in _EXPLAINING}
    return json.dumps(_collapse_spaces_deep(arguments), sort_keys=True, ensure_ascii=False, default=str)


def _collapse_spaces_deep(value: object) -> object:
    match value:
        case str():
            return collapse_spaces(value)
        case dict():
            return {str(k): _collapse_spaces_deep(v) for k, v in cast("dict[object, object]", value).items()}
        case list() | tuple():
            return [_collapse_spaces_deep(v) for v in cast("list[object]", value)]
        case _:
            return value


def digest(*parts: str) -> str:
    """Return a short digest of all parts together."""
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=12).hexdigest()


def readable(action: str, arguments: object) -> str:
    """Describe the action in a few words, such as `read_file src/a.py` or `run_command make`."""
    if isinstance(arguments, dict):
        named = cast("dict[str, object]", arguments)
        values = [
            collapse_spaces(str(v))
            for k, v in named.items()
            if k not in _EXPLAINING and isinstance(v, str | int | float)
        ]
        shown = " ".join(values)
    else:
        shown = collapse_spaces(str(arguments or ""))
    return end_cut(f"{action} {shown}".strip(), LABEL)
