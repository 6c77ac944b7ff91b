"""Map litellm's exceptions to faults. Their class is not enough: one class stands for many faults, and vice versa.

A refused connection and a missing key are both `InternalServerError`; the status and the provider's words decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

import msgspec

from ...protocol import FaultKind, ModelFault
from .fault_kinds import kind_of
from .fault_messages import fault
from .reported import ReportedError, read_error
from .retry_after import headers_delay
from .unsent import unsent_fault

if TYPE_CHECKING:
    from ..endpoint import Endpoint

_REPEATS = "repeating the same chunk"
_OLLAMA_LINE = re.compile(r"Got unexpected response from Ollama: \{'error': ['\"](.*?)['\"]\}")
_NO_CONNECTION = re.compile(
    r"connection error|cannot connect|connection refused|all connection attempts failed|connecterror", re.I
)
_NO_JSON = re.compile(r"expecting value|jsondecode|invalid json|unable to get json|<!doctype|<html", re.I)
_WRAPPING = re.compile(
    r"^(?:(?:litellm\.)?\w*(?:Error|Exception|Timeout)\w*:\s*|\w+Exception(?: [A-Z]\w+)*\s*-\s*|Error:\s+)"
)
_AFTER = re.compile(
    r"\s*(Traceback \(most recent call last\)|To drop (?:these|unsupported params), set|original model:).*", re.S
)
"""Text that litellm adds after an error's words."""
_BYTES = re.compile(r"""^b(['"])(.*)\1$""", re.S)


def fault_of_litellm(error: BaseException, at: Endpoint, *, in_stream: bool, sent: bool = True) -> ModelFault:
    """Return the fault of the error. `in_stream`: the answer had begun. The text is one line without keys.

    `sent`: litellm had sent a request, as far as known.
    """
    causes = list(_causes(error))
    names = {type(e).__name__ for e in causes}
    texts = [text for e in causes if not isinstance(e, KeyError) and (text := _error_text(e))]
    reported = next((s for s in map(read_error, texts) if s.text), ReportedError())
    status = next((s for e in causes if (s := _status(e)) is not None), reported.status)
    waits = [s for s in (_headers_delay(causes), reported.delay) if s is not None]
    place = at.api_base or at.provider
    if not in_stream and (fault_before := unsent_fault(texts, names, at, sent=sent)) is not None:
        return fault_before
    if any(_NO_CONNECTION.search(t) for t in texts) or "ConnectError" in names:
        return ModelFault("server", f"cannot connect to {place}; is the server running?", retryable=True)
    reported = msgspec.structs.replace(reported, delay=max(waits, default=None))
    kind = _kind(reported, status, names, " ".join(texts), in_stream=in_stream)
    return fault(kind, reported.text, at, status=status, after=reported.delay, reported=reported)


def _kind(reported: ReportedError, status: int | None, names: set[str], texts: str, *, in_stream: bool) -> FaultKind:
    if _REPEATS in texts:
        return "chant"
    if _OLLAMA_LINE.search(texts):
        return "server"  # its runner died; litellm reports it as 400
    if "ContextWindowExceededError" in names:
        return "context"
    if names & {"Timeout", "APITimeoutError"} and status in (None, 408):
        return "timeout"
    if names & {"ReadTimeout", "TimeoutException"}:
        return "stalled" if in_stream else "timeout"
    if "ContentPolicyViolationError" in names:
        return "filtered"
    if not in_stream and _NO_JSON.search(texts) and status in (None, 500):
        return "bad-reply"
    return kind_of(reported, status, begun=in_stream)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error, the one that litellm wrapped, and their causes."""
    seen: set[int] = set()
    todo: list[BaseException | None] = [error]
    while todo:
        e = todo.pop(0)
        if e is None or id(e) in seen or len(seen) > 8:
            continue
        seen.add(id(e))
        yield e
        todo += [getattr(e, "original_exception", None), e.__cause__, e.__context__]


def _error_text(error: BaseException) -> str:
    """Return the error's words, without the names that litellm puts before them."""
    text = str(getattr(error, "message", None) or error)
    while (bare := _WRAPPING.sub("", text, count=1)) != text:
        text = bare
    text = _AFTER.sub("", text).strip()
    if (raw := _BYTES.match(text)) is not None:
        text = raw[2].encode().decode("unicode_escape", "replace")
    if (line := _OLLAMA_LINE.search(text)) is not None:
        text = line[1]
    code = _body(error).get("code") or _body(error).get("type")
    return f"{text} ({code})" if isinstance(code, str) and code not in text and text and "{" not in text else text


def _body(error: BaseException) -> dict[str, object]:
    """Return the provider's error object, as the openai library stored it."""
    body = getattr(error, "body", None)
    return cast(dict[str, object], body) if isinstance(body, dict) else {}


def _status(error: BaseException) -> int | None:
    """Return the HTTP status, without those that litellm invents for a broken stream or connection."""
    if type(error).__name__ in ("MidStreamFallbackError", "APIConnectionError"):
        return None
    response = getattr(error, "response", None)
    for value in (
        getattr(error, "status_code", None),
        getattr(response, "status_code", None),
        _body(error).get("code"),
    ):
        try:
            number = int(str(value))
        except ValueError:
            continue
        if 400 <= number < 600:
            return number
    return None


def _headers_delay(causes: list[BaseException]) -> float | None:
    """Return the seconds that the provider's headers ask to wait."""
    for error in causes:
        for headers in (
            getattr(getattr(error, "response", None), "headers", None),
            getattr(error, "litellm_response_headers", None),
            getattr(error, "headers", None),
        ):
            if not isinstance(headers, Mapping):
                continue
            fields = {str(k): str(v) for k, v in cast(Mapping[object, object], headers).items()}
            if (seconds := headers_delay(fields)) is not None:
                return seconds
    return None
