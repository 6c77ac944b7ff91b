"""Shorten the newest round and the task of a conversation that has nothing else left to drop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import msgspec

from ...protocol import Message, ToolCall
from ...protocol.text.shorten_text import middle_cut

CountMessages = Callable[[Sequence[Message]], int]
_FLOORS = (200, 60)
"""Characters to which texts are cut: all texts to the first value, then all to the second."""
_PER_TOKEN = 3
"""Characters that are removed for each token above the limit."""


def shorten(messages: Sequence[Message], count: CountMessages, room: int) -> tuple[list[Message], int]:
    """Cut texts in the middle, the least important first, until all fits. Also returns how many were cut.

    The order: results and older messages of the program, the model's text and calls, the newest message, calls with
    their results (oldest first), images and opaque parts. The task and then the system prompt come last.
    """
    out = list(messages)
    touched: set[int] = set()
    for floor in _FLOORS:
        for places in _classes(out):
            _cut(out, places, count, room, floor, touched)
    dropped = 0
    while count(out) > room and (fewer := _without_oldest_call(out)) is not None:
        out, dropped = fewer, dropped + 1
    if count(out) > room:
        dropped += sum(1 for message in out if message.opaque is not None or message.images)
        out = [msgspec.structs.replace(message, opaque=None, images=[]) for message in out]
    for role in ("user", "system"):
        places = [i for i, m in enumerate(out) if m.role == role]
        _cut(out, places, count, room, _FLOORS[0], touched)
    return out, len(touched) + dropped


def cut_to(text: str, tokens: int, count_text: Callable[[str], int]) -> str:
    """Cut the text in the middle to at most `tokens` tokens, if that is possible."""
    length = len(text)
    while (size := count_text(cut := middle_cut(text, length))) > tokens and length > _FLOORS[-1]:
        length = max(_FLOORS[-1], min(length - 1, int(length * tokens / size)))
    return cut


def _classes(messages: Sequence[Message]) -> Iterator[list[int]]:
    """Yield the indexes of texts, least important class first, without the task and the system prompt."""
    users = [i for i, m in enumerate(messages) if m.role == "user"]
    task, newest = users[:1], users[1:][-1:]
    yield [i for i, m in enumerate(messages) if m.role == "tool" or (i in users and i not in (*task, *newest))]
    yield [i for i, m in enumerate(messages) if m.role == "assistant"]
    yield newest


def _cut(out: list[Message], places: list[int], count: CountMessages, room: int, floor: int, touched: set[int]) -> None:
    """Cut the longest of these messages repeatedly until all fits or each is as short as the floor."""
    whole = list(out)
    while places and (excess := count(out) - room) > 0:
        i = max(places, key=lambda place: _length(out[place]))
        length = _length(out[i])
        if length <= floor:
            return
        target = max(floor, min(length - 1, length - max(excess * _PER_TOKEN, length // 8)))
        shorter = _shorter(whole[i], target)
        if _length(shorter) >= length:
            places = [place for place in places if place != i]
            continue
        out[i] = shorter
        touched.add(i)


def _length(message: Message) -> int:
    return len(message.text) + sum(len(call.arguments) for call in message.calls)


def _shorter(message: Message, length: int) -> Message:
    """Return the message with its text and its calls cut to the same share."""
    share = length / max(1, _length(message))
    text = middle_cut(message.text, int(len(message.text) * share)) if len(message.text) > _FLOORS[-1] else message.text
    return msgspec.structs.replace(message, text=text, calls=[_shorter_call(call, share) for call in message.calls])


def _shorter_call(call: ToolCall, share: float) -> ToolCall:
    """Return the call with its texts cut; its arguments stay one JSON object."""
    if len(call.arguments) <= _FLOORS[-1]:
        return call
    try:
        arguments = msgspec.json.decode(call.arguments)
    except (msgspec.DecodeError, UnicodeEncodeError):
        arguments = call.arguments
    fields = cast("dict[str, object]", arguments) if isinstance(arguments, dict) else {"shortened": arguments}
    cut = msgspec.json.encode(_scaled(fields, share)).decode()
    return msgspec.structs.replace(call, arguments=cut) if len(cut) < len(call.arguments) else call


def _scaled(value: object, share: float) -> object:
    """Return the JSON value with long texts and lists cut to that share."""
    if isinstance(value, str):
        return middle_cut(value, int(len(value) * share)) if len(value) > _FLOORS[-1] else value
    if isinstance(value, list):
        items = cast("list[Any]", value)
        few = items if len(items) <= 2 else items[: max(1, int(len(items) * share))]
        return [_scaled(item, share) for item in few]
    if isinstance(value, dict):
        return {name: _scaled(item, share) for name, item in cast("dict[str, Any]", value).items()}
    return value


def _without_oldest_call(messages: Sequence[Message]) -> list[Message] | None:
    """Return the messages without their oldest call and its result, or None if only one call is left."""
    calls = [call for message in messages for call in message.calls]
    if len(calls) < 2:
        return None
    gone = calls[0]
    out: list[Message] = []
    for message in messages:
        if message.role == "tool" and message.call_id == gone.call_id:
            continue
        if gone in message.calls:
            message = msgspec.structs.replace(message, calls=[call for call in message.calls if call is not gone])
            if not message.calls and not message.text:
                continue
        out.append(message)
    return out
