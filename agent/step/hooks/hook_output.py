"""What a hook printed on standard output: context for the model, and a notice to the person (docs/how-to/hooks.md)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ...host.terminal_text import plain
from ...protocol.text.shorten_text import line_cut, noted_cut

if TYPE_CHECKING:
    from ...protocol import HookPoint

LONGEST_CONTEXT = 10_000
"""Characters of a hook's context, as in other programs that run hooks."""
KEPT_OUTPUT = 256 * 1024
"""Bytes of standard output that are kept in memory. A longer JSON object cannot be read."""
_LONGEST_NOTICE = 2_000
_LONGEST_COMMAND = 80
_TEXT_IS_CONTEXT = ("run-start", "before-message")
"""Events on which plain text is context. On the others, formatters and checks print what nobody asked for."""
_NO_CONTEXT = ("run-end",)
"""Events after which the model is not called."""


class HookOutput(msgspec.Struct, frozen=True):
    """What the standard output of a hook asks for."""

    context: str = ""
    notice: str = ""
    refusal: str | None = None
    """Why the JSON refuses, or None if it does not."""
    wrong: str = ""
    """Why the JSON cannot be obeyed."""


class _WrongField(Exception):
    """A field of the JSON has a wrong type, or asks for what a hook cannot do."""


def read_output(printed: bytes, on: HookPoint, *, dropped: int = 0) -> HookOutput:
    """Read the standard output of a hook that passed or refused. `dropped`: bytes that are missing in its middle."""
    text = plain(printed).strip()
    if not text.startswith("{"):
        return HookOutput(context=noted_cut(text, LONGEST_CONTEXT) if on in _TEXT_IS_CONTEXT else "")
    if dropped:
        return HookOutput(wrong=f"its JSON has more than {KEPT_OUTPUT // 1024} KiB: print less")
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return HookOutput(context=noted_cut(text, LONGEST_CONTEXT) if on in _TEXT_IS_CONTEXT else "")
    try:
        return _of_fields(fields, on)
    except _WrongField as error:
        return HookOutput(wrong=str(error))


def context_message(on: HookPoint, command: str, context: str, limit: int = LONGEST_CONTEXT) -> str:
    """Return the message to the model with the context of a hook, which names its source."""
    return f"The hook `{line_cut(command, _LONGEST_COMMAND)}` ({on}) adds:\n{noted_cut(context, limit)}"


def _of_fields(fields: dict[str, Any], on: HookPoint) -> HookOutput:
    own = fields.get("hookSpecificOutput", {})
    if not isinstance(own, dict):
        raise _WrongField("hookSpecificOutput is not an object: remove it, or write {...}")
    own = cast("dict[str, Any]", own)
    if "updatedInput" in own or "updatedInput" in fields:
        raise _WrongField("updatedInput changes a call, which hooks cannot do here: refuse it and say why")
    context = _text(own, "additionalContext") or _text(fields, "additionalContext")
    return HookOutput(
        context="" if on in _NO_CONTEXT else noted_cut(plain(context).strip(), LONGEST_CONTEXT),
        notice=noted_cut(plain(_text(fields, "systemMessage")).strip(), _LONGEST_NOTICE),
        refusal=_refusal(fields, own),
    )


def _refusal(fields: dict[str, Any], own: dict[str, Any]) -> str | None:
    """Return why the JSON refuses, or None. An approval is ignored: what no hook refuses still passes the gate."""
    permission = _one_of(own, "permissionDecision", ("allow", "deny"))
    decision = _one_of(fields, "decision", ("approve", "block"))
    if fields.get("continue", True) not in (True, False):
        raise _WrongField(f"continue = {fields['continue']!r} is not true or false")
    if permission == "deny":
        return _text(own, "permissionDecisionReason")
    if decision == "block":
        return _text(fields, "reason")
    return _text(fields, "stopReason") if fields.get("continue") is False else None


def _one_of(fields: dict[str, Any], name: str, values: tuple[str, str]) -> str | None:
    value = fields.get(name)
    if value is not None and value not in values:
        raise _WrongField(f"{name} = {line_cut(repr(value), 80)} is not one of {', '.join(values)}")
    return value


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name, "")
    if value is None or isinstance(value, str):
        return (value or "").encode(errors="replace").decode()  # JSON can escape half of a character
    raise _WrongField(f"{name} is not a text")
