"""What the scripted model says next: a pure function of the conversation, as with a real model.

It looks around, mends one file after the other, reads again what was rejected or landed in part, proposes that in
smaller pieces, gives up after two rejections in a row, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from .fixes import FIXES, Fix, Hunk

_NOT_LANDED = re.compile(
    r"reject|refus|not (approved|applied|written|done)|nothing was (changed|written)|conflict|error|failed|interrupt",
    re.I,
)
_IN_PART = re.compile(r"\d+ of \d+ hunks")
_MOST_REJECTIONS = 2


class Say(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of the scripted model."""

    reasoning: str = ""
    text: str = ""
    calls: list[tuple[str, dict[str, Any]]] = []
    """Tool and arguments."""


class _File(msgspec.Struct, kw_only=True):
    """What the conversation says of one file."""

    fix: Fix
    content: str | None = None
    """As it was last read; None: not since the last change to it."""
    landed: bool = False
    in_doubt: bool = False
    """The last proposal did not land whole."""
    rejections: int = 0
    """In a row."""


def next_words(messages: Sequence[dict[str, Any]], tools: Collection[str]) -> Say:
    """The answer to this conversation."""
    files = _remember(messages)
    if not tools:
        return Say(text=_summary(files))
    if not any(message.get("tool_calls") for message in messages):
        return _look_around(tools)
    for fix in FIXES:
        step = _mend(fix, files[fix.path], tools)
        if step is not None:
            return step
    return _end(messages, files, tools)


def _remember(messages: Sequence[dict[str, Any]]) -> dict[str, _File]:
    files = {fix.path: _File(fix=fix) for fix in FIXES}
    asked: dict[str, tuple[str, dict[str, Any]]] = {}
    for message in messages:
        for call in message.get("tool_calls") or ():
            asked[call["id"]] = (call["function"]["name"], _arguments(call["function"]["arguments"]))
        if message["role"] == "user" and re.search(r"\b(again|retry)\b", _text(message), re.I):
            for file in files.values():
                file.rejections = 0
        if message["role"] != "tool":
            continue
        tool, arguments = asked.get(message["tool_call_id"], ("", {}))
        file = files.get(str(arguments.get("path")))
        if file is not None:
            _note(file, tool, arguments, _text(message))
    return files


def _note(file: _File, tool: str, arguments: dict[str, Any], result: str) -> None:
    if tool == "read_file":
        file.content, file.in_doubt = result, False
    elif tool in ("edit_file", "write_file"):
        head = result.partition("\n")[0]  # below it the tool shows code, in which any word may stand
        in_part = bool(_IN_PART.search(result))
        refused = not in_part and bool(_NOT_LANDED.search(head))
        was_all = tool == "write_file" or len(arguments.get("edits") or ()) >= len(_missing(file))
        file.landed = was_all and not refused and not in_part
        file.in_doubt = refused or in_part
        file.rejections = file.rejections + 1 if refused else 0
        file.content = None


def _look_around(tools: Collection[str]) -> Say:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("list_files", {}),
        ("read_file", {"path": "tests/test_money.py"}),
        ("read_file", {"path": "till/money.py"}),
    ]
    return Say(
        reasoning="Before I change anything I want to see what there is, and what the tests expect.",
        text="I look at the project and at the first tests.",
        calls=[c for c in calls if c[0] in tools],
    )


def _mend(fix: Fix, file: _File, tools: Collection[str]) -> Say | None:
    """The next step on this file; None: it is done, or given up."""
    if file.landed or file.rejections >= _MOST_REJECTIONS:
        return None
    if fix.content is not None:
        return _write(fix, file) if "write_file" in tools else None
    if "edit_file" not in tools:
        return None
    if file.content is None:
        words = f"I look at what `{fix.path}` says now." if file.in_doubt else f"Next, `{fix.path}`."
        return Say(text=words, calls=[("read_file", {"path": fix.path})])
    missing = _missing(file)
    if not missing:
        return None
    again = file.rejections > 0
    hunks = missing[:1] if again else missing
    edits = [{"old_text": h.old, "new_text": h.new} for h in hunks]
    return Say(
        reasoning="That was rejected. A smaller change is easier to judge." if again else fix.thought,
        text=f"Then one thing at a time in `{fix.path}`." if again else fix.words,
        calls=[("edit_file", {"path": fix.path, "edits": edits})],
    )


def _write(fix: Fix, file: _File) -> Say:
    again = file.rejections > 0
    return Say(
        reasoning=fix.thought,
        text=f"Without `{fix.path}` its test cannot pass, so I propose it once more." if again else fix.words,
        calls=[("write_file", {"path": fix.path, "content": fix.content})],
    )


def _missing(file: _File) -> list[Hunk]:
    """What is still to be mended, as the file was last read."""
    return [hunk for hunk in file.fix.hunks if _stands_in(hunk, file.content or "")]


def _stands_in(hunk: Hunk, content: str) -> bool:
    """Line by line: what a tool reads may carry line numbers."""
    return all(line.strip() in content for line in hunk.old.splitlines())


def _end(messages: Sequence[dict[str, Any]], files: dict[str, _File], tools: Collection[str]) -> Say:
    given_up = [path for path, file in files.items() if file.rejections >= _MOST_REJECTIONS]
    said = sum(1 for m in messages if any(c["function"]["name"] == "finish" for c in m.get("tool_calls") or ()))
    if given_up:
        names = " and ".join(f"`{path}`" for path in given_up)
        return Say(
            text=f"You rejected my change to {names} twice, so I leave it. Say `again` and I propose it once more."
        )
    if "finish" in tools and said == 0:
        citations = [f"{fix.path}:1" for fix in FIXES]
        return Say(
            text="Everything is mended.", calls=[("finish", {"answer": _summary(files), "citations": citations})]
        )
    if said:
        return Say(text="This is as far as my script goes: I am a scripted model, and I know only this one project.")
    return Say(text=_summary(files))


def _summary(files: dict[str, _File]) -> str:
    done = [path for path, file in files.items() if file.landed]
    open_ = [path for path, file in files.items() if not file.landed]
    lines = [f"Mended: {', '.join(f'`{p}`' for p in done)}." if done else "Nothing is mended yet."]
    if open_:
        lines.append(f"Still open, and not verified: {', '.join(f'`{p}`' for p in open_)}.")
    return " ".join(lines)


def _arguments(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(str(p.get("text", "")) for p in content)
