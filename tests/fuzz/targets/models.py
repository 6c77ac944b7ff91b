"""Answers of model servers: the stream of each wire format, errors, and calls that stand in the text."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from contextlib import suppress

from fakes.providers.clouds import frame
from fakes.providers.wires import WIRES, Said

from rundry.agent.models.answer import Answer, TooLong
from rundry.agent.models.endpoint import Endpoint
from rundry.agent.models.faults.direct_faults import HttpRefusal, fault_of_response, fault_of_stream
from rundry.agent.models.lanes.formats.by_path import reader_of
from rundry.agent.models.lanes.ollama import OllamaReader
from rundry.agent.models.lanes.server_sent_events import BrokenStream, ErrorInStream, NotAStream
from rundry.agent.models.lanes.single_object import feed_object
from rundry.agent.models.written_calls.call_reader import CallReader
from rundry.agent.protocol import CallPart, EndPart, ModelFault, TextPart
from rundry.agent.tools.tool_table import tool_specs

from ..target import Target

AT = Endpoint(provider="openai", model="x", api_base="http://x", key=None, key_names=(), local=True)
SAID = (
    Said(texts=["Hello ", "wörld"], reasoning="hm", calls=[("c1", '{"path":"a"}'), (None, "{}")], finish="tool_calls"),
    Said(texts=["<tool_call>{}"], finish="length"),
    Said(finish="filtered", usage=False),
)
WORDS = (
    b'"index":[0],',
    b'"index":{},',
    b"null",
    b"true",
    b"-1",
    b"1e999",
    b"[]",
    b"{}",
    b'""',
    b'"\\ud800"',
    b'"index":',
    b"\n",
    b"\ndata: ",
    b"[DONE]",
    b'"error":{}',
    b'{"choices":[{"delta":{}}]}',
    b'"tool_calls":[null]',
    b'"\xff"',
    b"9" * 30,
    b"[" * 200,
    b'"usage":null',
)
DELIBERATE = (BrokenStream, ErrorInStream, NotAStream)
"""What a reader raises for a stream that is not what it should be."""


def read(wire: str, pieces: list[bytes]) -> str | None:
    """Read an answer as the lane does. Return a summary of it; None if it failed on purpose."""
    answer = Answer(max_tokens=1_000)
    reader = OllamaReader(answer) if wire == "ollama" else reader_of(wire, answer)
    shown: list[str] = []
    try:
        with suppress(TooLong):
            for piece in pieces:
                if reader.done:
                    break
                shown += [part.text for part in reader.feed(piece)]
            shown += [part.text for part in reader.end()]
        parts = list(answer.end("x")) if reader.is_complete() else []
    except DELIBERATE as error:
        assert isinstance(fault_of_stream(error, AT, begun=answer.begun), ModelFault)
        return None
    except ModelFault:
        return None
    assert all(isinstance(text, str) for text in shown)
    assert not parts or isinstance(parts[-1], EndPart)
    for part in parts:
        assert not isinstance(part, CallPart) or isinstance(part.call.arguments, str)
    return "".join(shown)


def whole(wire: str, data: bytes) -> None:
    """The same bytes as an answer in one piece."""
    answer = Answer(max_tokens=1_000)
    with suppress(*DELIBERATE, ModelFault, TooLong):
        list(feed_object(wire, reader_of(wire, answer), data, "application/json"))


def stream(wire: str) -> Callable[[bytes], None]:
    def run(data: bytes) -> None:
        cut = zlib.crc32(data) % max(1, len(data))
        one, two = read(wire, [data]), read(wire, [data[:cut], data[cut:]])
        if wire not in ("converse", "invoke"):  # a frame that is damaged ends one sooner than the other
            assert one == two or None in (one, two), "what is read depends on where the bytes were split"
        if wire in ("chat", "anthropic", "gemini", "responses"):
            whole(wire, data)

    return run


def frames(wire: str) -> Callable[[bytes], None]:
    """Lines of `TYPE JSON`, each in a frame with checksums that are right, so that the JSON is reached."""

    def run(data: bytes) -> None:
        pieces: list[bytes] = []
        for line in data.split(b"\n"):
            name, _, payload = line.partition(b" ")
            if wire == "invoke":
                payload = json.dumps({"bytes": base64.b64encode(payload).decode()}).encode()
            pieces.append(frame(name.decode("latin-1")[:100], payload))
        try:
            read(wire, pieces)
        except UnicodeEncodeError:
            return

    return run


def lines_of(wire: str) -> tuple[bytes, ...]:
    key = "converse"
    events = [WIRES[key].write(said) for said in SAID]
    return tuple(b"\n".join(_line(event, wire) for event in each) for each in events)


def _line(event: dict[str, object], wire: str) -> bytes:
    name, payload = next(iter(event.items()))
    if wire == "invoke":
        return b"chunk " + json.dumps({name: payload}).encode()
    return f"{name} {json.dumps(payload)}".encode()


def error_body(data: bytes) -> None:
    status = (200, 301, 400, 401, 404, 413, 429, 500, 529)[data[0] % 9] if data else 500
    first, _, body = data.partition(b"\n")
    headers = {"Retry-After": first.decode("latin-1"), "x-amzn-errortype": first.decode("latin-1")}
    fault = fault_of_response(HttpRefusal(status, headers, body), AT)
    assert isinstance(fault, ModelFault) and str(fault)


def written_calls(data: bytes) -> None:
    text = data.decode(errors="replace")
    cut = zlib.crc32(data) % max(1, len(text))
    found: list[tuple[str, list[str]]] = []
    for pieces in ([text], [text[:cut], text[cut:]]):
        reader = CallReader(tool_specs(["read_file", "run_command", "edit_file"]))
        parts = [part for piece in pieces for part in reader.feed(piece)]
        rest, calls = reader.flush()
        said = "".join(part.text for part in [*parts, *rest] if isinstance(part, TextPart))
        found.append((said, [call.arguments for call in calls]))
    assert found[0] == found[1], "what is read depends on where the text was split"
    if not found[0][1] and "<think" not in text and "<|" not in text and "hannel" not in text and "[" not in text:
        assert len(found[0][0]) <= len(text)


WRITTEN = (
    b'<tool_call>\n{"name": "read_file", "arguments": {"path": "a"}}\n</tool_call>',
    b"<think>hm</think>ok\n<function=read_file><parameter=path>a</parameter></function>",
    b'<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{"path":"a"}<|call|>',
    b'[TOOL_CALLS][{"name": "read_file", "arguments": {"path": "a"}}]',
    b'```json\n{"name": "read_file", "parameters": {"path": "a"}}\n```',
    b'<invoke name="read_file"><parameter name="path">a</parameter></invoke>',
)
WRONG = (
    b'data: {"type":"message_start","message":{"usage":7}}\n\n',
    b'data: {"type":"content-delta","index":0,"delta":{"message":{"content":{"text":[]}}}}\n\n',
    b'data: {"type":"response.completed","response":{"usage":{"input_tokens":{}}}}\n\n',
    b'data: {"choices":[{"delta":{"tool_calls":[{"index":[0],"function":{"name":"a"}}]}}]}\n\n',
    b'"\xff"',
)
FRAMED = (
    b'messageStop {"stopReason":"end_turn","additionalModelResponseFields":{"usage":3}}',
    b'chunk {"contentBlockDelta":{"delta":3}}',
    b'chunk {"outputText":"a","amazon-bedrock-invocationMetrics":{"inputTokenCount":[]}}',
)
"""Fields of a wrong type, and bytes that are not text: each broke a reader once."""
SSE = {name: WIRES[name] for name in ("chat", "anthropic", "ollama", "gemini", "responses", "cohere") if name in WIRES}
ERRORS = (
    b"Wed, 21 Oct 20651 7:28:00 GMT\n<html>",
    b'30\n{"error":{"message":"slow down","type":"rate_limit","code":429}}',
    b"Wed, 21 Oct 2065 07:28:00 GMT\n<html>bad gateway</html>",
    b'1e400\n[{"error":{"details":[{"retryDelay":"7s"}]}}]',
)
TARGETS = {
    **{f"wire-{n}": Target(stream(n), (*(w.body(said) for said in SAID), *WRONG), WORDS) for n, w in SSE.items()},
    **{f"wire-{name}": Target(frames(name), (*lines_of(name), *FRAMED), WORDS) for name in ("converse", "invoke")},
    "wire-frames": Target(stream("converse"), tuple(WIRES["converse"].body(said) for said in SAID), (b"\0\0\0\x20",)),
    "error-body": Target(error_body, ERRORS, WORDS),
    "written-calls": Target(written_calls, WRITTEN, (b"<tool_call>", b"</think>", b"<|message|>", b"```", b"{", b'"')),
}
