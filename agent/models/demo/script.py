"""Compute the scripted model's next answer from the conversation alone, as a real model does.

The model reads the project and fixes one file after the other. If a proposal was rejected or accepted only in part, it
reads the file again and proposes smaller changes. After two rejections in a row it reports the file as not fixed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from .fixes import FIXES, Fix, FixBlock

_NOT_WRITTEN = re.compile(
    r"reject|refus|not (approved|applied|written|done)|nothing was (changed|written)|conflict|error|failed|interrupt",
    re.I,
)
_IN_PART = re.compile(r"\d+ of \d+ hunks")
_MOST_REJECTIONS = 2


class ScriptedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of the scripted model: its reasoning, its text and its tool calls."""

    reasoning: str = ""
    text: str = ""
    calls: list[tuple[str, dict[str, Any]]] = []
    """Name of the tool and its arguments, for each call."""


class _File(msgspec.Struct, kw_only=True):
    """State of one file according to the conversation."""

    fix: Fix
    content: str | None = None
    """Content when it was last read, or None if not read since its last change."""
    written: bool = False
    in_doubt: bool = False
    """The last proposal was not applied completely."""
    rejections: int = 0
    """Number of rejections in a row."""


def next_answer(messages: Sequence[dict[str, Any]], tools: Collection[str]) -> ScriptedAnswer:
    """Return the scripted model's answer to this conversation. `tools`: names of the tools that it may call."""
    files = _remember(messages)
    if not tools:
        return ScriptedAnswer(text=_summary(files))
    if not any(message.get("tool_calls") for message in messages):
        return _first_answer(tools)
    for fix in FIXES:
        step = _fix_file(fix, files[fix.path], tools)
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
        head = result.partition("\n")[0]  # the lines below it are code, which may contain any word
        in_part = bool(_IN_PART.search(result))
        refused = not in_part and bool(_NOT_WRITTEN.search(head))
        was_all = tool == "write_file" or len(arguments.get("edits") or ()) >= len(_missing(file))
        file.written = was_all and not refused and not in_part
        file.in_doubt = refused or in_part
        file.rejections = file.rejections + 1 if refused else 0
        file.content = None


def _first_answer(tools: Collection[str]) -> ScriptedAnswer:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("list_files", {}),
        ("read_file", {"path": "tests/test_money.py"}),
        ("read_file", {"path": "till/money.py"}),
    ]
    return ScriptedAnswer(
        reasoning="Before I change anything, I read the code and the tests to see what they expect.",
        text="I list the files and read the first test.",
        calls=[c for c in calls if c[0] in tools],
    )


def _fix_file(fix: Fix, file: _File, tools: Collection[str]) -> ScriptedAnswer | None:
    """Return the next answer about this file; None if it is fixed or was rejected too often."""
    if file.written or file.rejections >= _MOST_REJECTIONS:
        return None
    if fix.content is not None:
        return _write(fix, file) if "write_file" in tools else None
    if "edit_file" not in tools:
        return None
    if file.content is None:
        words = f"I read `{fix.path}` again." if file.in_doubt else f"Next, I read `{fix.path}`."
        return ScriptedAnswer(text=words, calls=[("read_file", {"path": fix.path})])
    missing = _missing(file)
    if not missing:
        return None
    again = file.rejections > 0
    hunks = missing[:1] if again else missing
    edits = [{"old_text": h.old, "new_text": h.new} for h in hunks]
    return ScriptedAnswer(
        reasoning="The proposal was rejected. A smaller change is easier to review." if again else fix.thought,
        text=f"I propose one change at a time in `{fix.path}`." if again else fix.words,
        calls=[("edit_file", {"path": fix.path, "edits": edits})],
    )


def _write(fix: Fix, file: _File) -> ScriptedAnswer:
    again = file.rejections > 0
    return ScriptedAnswer(
        reasoning=fix.thought,
        text=f"Without `{fix.path}` its test cannot pass, so I propose it again." if again else fix.words,
        calls=[("write_file", {"path": fix.path, "content": fix.content})],
    )


def _missing(file: _File) -> list[FixBlock]:
    """Return the hunks that the file still needs, according to its content when it was last read."""
    return [hunk for hunk in file.fix.hunks if _occurs_in(hunk, file.content or "")]


def _occurs_in(hunk: FixBlock, content: str) -> bool:
    """Return whether the content has every line of the hunk. The tool may have put line numbers before them."""
    return all(line.strip() in content for line in hunk.old.splitlines())


def _end(messages: Sequence[dict[str, Any]], files: dict[str, _File], tools: Collection[str]) -> ScriptedAnswer:
    given_up = [path for path, file in files.items() if file.rejections >= _MOST_REJECTIONS]
    said = sum(1 for m in messages if any(c["function"]["name"] == "finish" for c in m.get("tool_calls") or ()))
    if given_up:
        names = " and ".join(f"`{path}`" for path in given_up)
        return ScriptedAnswer(
            text=f"You rejected my change to {names} twice, so I stop. Write `again` to get another proposal."
        )
    if "finish" in tools and said == 0:
        citations = [f"{fix.path}:1" for fix in FIXES]
        return ScriptedAnswer(
            text="All files are fixed.", calls=[("finish", {"answer": _summary(files), "citations": citations})]
        )
    if said:
        return ScriptedAnswer(text="My script ends here: I am a scripted model, and I know only this project.")
    return ScriptedAnswer(text=_summary(files))


def _summary(files: dict[str, _File]) -> str:
    done = [path for path, file in files.items() if file.written]
    open_ = [path for path, file in files.items() if not file.written]
    lines = [f"Fixed: {', '.join(f'`{p}`' for p in done)}." if done else "Nothing is fixed yet."]
    if open_:
        lines.append(f"Not fixed, and not verified: {', '.join(f'`{p}`' for p in open_)}.")
    return " ".join(lines)


def _arguments(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(str(p.get("text", "")) for p in content)
