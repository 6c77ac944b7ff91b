"""Read the call that ends a work from the text of an answer, where small models write it as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ...models.written_calls.answer_source import NotACall
from ...models.written_calls.offered_calls import OfferedTools
from ...protocol import ToolCall
from ...protocol.text.double_keys import double_key
from ...tools.tool_table import tool_specs

_MARKS: dict[str, frozenset[str]] = {
    "report": frozenset({"found_new", "findings"}),
    "judge": frozenset({"verdict"}),
    "propose": frozenset({"lens", "reason"}),
}
"""The tools whose call is read, each with the fields of which a written one has at least one."""
_FINDING_WITH = frozenset({"detail", "evidence"})
"""An object with a title and one of these fields is a finding, also without a report around it."""
_ITEM = frozenset({"kind", "value"})
_MAY_BEGIN = re.compile(r'[{\[](?=\s*["{\[])')
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_KEY = re.compile(r"""["']?(\w+)["']?\s*:""")
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class _Written:
    """A JSON value in the text, or a part of the text that begins like one."""

    start: int
    end: int
    value: object
    is_broken: bool = False


def calls_of_ending(tool: str, text: str) -> list[ToolCall]:
    """Return the call of the tool that the text has as JSON: in fences, bare or within prose; empty if it has none.

    The arguments are checked later, like those of any call. A list of objects counts as the findings of a report even
    if they do not fit, so that the model and the transcript get the reason. So does JSON that is broken or cut off.
    """
    written = list(_json_in(text))
    broken = [one for one in written if one.is_broken and _is_about(tool, text[one.start : one.end])]
    given = [(one, arguments) for one in written if (arguments := _arguments(tool, one, text)) is not None]
    if broken:
        parts = [*broken, *(one for one, _ in given)]
        arguments = text[min(part.start for part in parts) : max(part.end for part in parts)]
    elif any(arguments.keys() != {"items"} for _, arguments in given):
        found = _joined([each for _, each in given]) if tool == "report" else given[-1][1]
        if tool != "report" and any(each != found for _, each in given):
            return []  # two verdicts: nobody knows which one is meant
        arguments = json.dumps(found)
    else:
        return []
    return [ToolCall("", tool, arguments, from_text=True)]


def written_ending(names: Iterable[str]) -> str | None:
    """Return the offered tool whose call is also read from the text, if there is one."""
    return next((name for name in names if name in _MARKS), None)


def _json_in(text: str) -> Iterator[_Written]:
    """Yield the JSON objects and lists of the text that are not in another one. What is cut off ends at the end."""
    at = 0
    while (begin := _MAY_BEGIN.search(text, at)) is not None:
        start = begin.start()
        try:
            value, at = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            at = _end_of(text, start)
            yield _Written(start, at, None, is_broken=True)
        else:
            yield _Written(start, at, value, is_broken=double_key(text[start:at]) is not None)


def _end_of(text: str, start: int) -> int:
    """Return the end of the bracket that opens there, or of the text if it is not closed."""
    depth = 0
    for match in _BRACKET.finditer(text, start):
        depth += 1 if match[0] in "{[" else -1 if match[0] in "}]" else 0
        if depth == 0:
            return match.end()
    return len(text)


def _is_about(tool: str, text: str) -> bool:
    """Return whether broken JSON was meant as a call of the tool. Its keys may lack their quotes."""
    keys = {match[1] for match in _KEY.finditer(text)}
    return bool(keys & _MARKS[tool]) or (tool == "report" and "title" in keys and bool(keys & _FINDING_WITH))


def _arguments(tool: str, written: _Written, text: str) -> dict[str, Any] | None:
    """Return the arguments that a JSON value has, or None if it is not a call of the tool."""
    if written.is_broken:
        return None
    try:
        calls = OfferedTools(tool_specs([tool])).from_json(text[written.start : written.end])
    except NotACall:
        return _unnamed(tool, written.value)
    return cast("dict[str, Any]", json.loads(calls[0].arguments)) if len(calls) == 1 else None


def _unnamed(tool: str, value: object) -> dict[str, Any] | None:
    """Return the arguments that a JSON value without the name of the tool has by its fields, or None."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        if fields.keys() & _MARKS[tool]:
            return fields
        is_finding = tool == "report" and "title" in fields and bool(fields.keys() & _FINDING_WITH)
        return {"found_new": True, "findings": [fields]} if is_finding else None
    if tool != "report" or not _are_objects(value):
        return None
    listed = cast("list[dict[str, Any]]", value)
    is_of_items = all(one.keys() == _ITEM for one in listed)
    return {"items": listed} if is_of_items else {"found_new": True, "findings": listed}


def _are_objects(value: object) -> bool:
    return bool(value) and all(isinstance(one, dict) for one in _listed(value)) and isinstance(value, list)


def _joined(reports: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return one report with everything that these have, each finding and item once."""
    if len(reports) == 1:
        return reports[0]
    joined: dict[str, Any] = {
        "found_new": any(report.get("found_new") for report in reports),
        "reason": "; ".join(str(report["reason"]) for report in reports if report.get("reason")),
    }
    for field in ("items", "findings"):
        every = [one for report in reports for one in _listed(report.get(field))]
        joined[field] = [one for at, one in enumerate(every) if one not in every[:at]]
    return joined


def _listed(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else [] if value is None else [value]
