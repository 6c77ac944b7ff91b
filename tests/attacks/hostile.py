"""Hostile texts, by their numbers, and events that are full of them."""

from __future__ import annotations

import types
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from rundry.agent.protocol import (
    LoopKind,
    ProposalOpened,
    QuestionAsked,
    Queued,
    RunEnded,
    RunResumed,
    RunStarted,
    TextArrived,
    ToolCalled,
)
from rundry.agent.protocol.events.base import EventBase

HOSTILE = {
    "4.1": "[@click=app.quit]go[/]",
    "4.2": "[link=https://evil.example]go[/link]",
    "4.3": "un[/]balanced [bold",
    "4.4": "es\x1bcape",
    "4.5": "csi\x1b[3J\x1b[7;7f\x1b[38:5:1mred",
    "4.6": "title\x1b]0;evil-title\x07 or \x1b]2;evil-title\x1b\\",
    "4.7": "link\x1b]8;;https://evil.example\x1b\\words\x1b]8;;\x1b\\",
    "4.8": "clip\x1b]52;c;ZXZpbC1jbGlwYm9hcmQ=\x07board",
    "4.9": "c1\x9b2J \x9d0;evil-title\x9c \x90q\x9c",
    "4.10": "bell\x07",
    "4.11": "evil\b\b\b\bgood",
    "4.12": "v\vf\ff",
    "4.13": "over\rwritten",
    "4.14": "\u202eesrever\u202c \u2066x\u2069",
    "4.15": "ze\u200bro\u200cwi\u200ddth\ufeff\u2060",
    "4.16": "tag\U000e0041\U000e0042\U000e007f",
    "4.17": "lone\ud800 surrogate\udfff",
    "4.18": "nul\0del\x7f",
    "4.19": "zalgo" + "\u0301" * 200,
    "4.20": "blanks" + " " * 400 + "end",
    "4.21": "lines\u2028sep\u2029par\x85nel",
    "4.21 in a path": "x.py\n@@ -1 +1 @@\n-forged hunk\n+forged line",
    "4.19 in other scripts": "zalgo" + "\u093f" * 200 + "\u0e38" * 200,
    "4.27 homoglyph": "p\u0430yment.py",
    "4.22": "\x1bP1$r0m\x1b\\ \x1b_apc\x1b\\ \x1b^pm\x1b\\ \x1b[?1049l \x1b[6n \x1bc",
}
ALL = " | ".join(HOSTILE.values())


def filled(kind: type[Any], text: str, **given: object) -> Any:
    """An event of that class whose every text is `text`, except those of a closed set."""
    hints = get_type_hints(kind)
    fields = {f.name: _value(hints[f.name], text) for f in msgspec.structs.fields(kind)}
    return kind(**{name: value for name, value in (fields | given).items() if value is not None})


def flood(text: str) -> list[Any]:
    """A run of every event there is, with `text` everywhere; at its end all that can wait for a person waits."""
    apart = (RunStarted, RunEnded, RunResumed)
    kinds = [kind for kind in EventBase.__subclasses__() if kind not in apart]
    tools = {
        "read_file": {"path": text}, "list_files": {"path": text, "pattern": text}, "search": {"pattern": text},
        "edit_file": {"path": text}, "write_file": {"path": text, "content": text}, "run_command": {"command": text},
        "fetch_url": {"url": text}, "finish": {"answer": text}, text: {text: text}, "judge": {"verdict": text},
    }  # fmt: skip
    waits = {"tool": "run_command", "command": text, "asks": [text], "path": None, "digest": "d", "danger": True}
    return [
        filled(RunStarted, text, loop=LoopKind.GOAL),
        *(ToolCalled(call_id=name, tool=name, arguments=arguments) for name, arguments in tools.items()),
        *(filled(kind, text) for kind in kinds),
        filled(RunEnded, text, complete=False),
        filled(RunResumed, text),
        TextArrived(
            text=f"# {text}\n\n- {text}\n\n```python\n{text}\n```\n\n| a | b |\n|---|---|\n| {text} | [x]({text}) |\n"
        ),
        filled(Queued, text, queued_id=7),
        filled(QuestionAsked, text, question_id="q2"),
        filled(ProposalOpened, text, proposal_id="waits", before=None, after=None, rule=None, **waits),
    ]


def _value(hint: Any, text: str) -> Any:
    if get_origin(hint) in (Union, types.UnionType):
        return _value(next(arg for arg in get_args(hint) if arg is not type(None)), text)
    if get_origin(hint) is list:
        return [_value(get_args(hint)[0], text)]
    if get_origin(hint) is dict:
        key, value = get_args(hint)
        return {_value(key, text): _value(value, text)}
    if get_origin(hint) is Literal:
        return get_args(hint)[0]
    if hint is str:
        return text
    if hint is Any:
        return {"path": text, text: [text]}
    if hint in (int, float):
        return hint(1)
    if hint is bool:
        return False
    if isinstance(hint, type) and issubclass(hint, Enum):
        return next(iter(hint))
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return filled(hint, text)
    return None
