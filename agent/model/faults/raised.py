"""What went wrong, from whatever litellm, openai or httpx raised, as a ModelFault that `step` can act on.

litellm gives one class to many faults (a refused connection and a missing key are both `InternalServerError`) and one
fault many classes, so the status code and the provider's words decide, not the class.
"""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import cast

from ..protocol import FaultKind, ModelFault
from .endpoint import Endpoint

_CONTEXT = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|context window|context length|"
    r"available context size|prompt is too long|input is too long|too many (input )?tokens|"
    r"input token count|reduce the length of the (messages|prompt)|longer than the model's context|"
    r"exceeds? the (model's )?(maximum|max|context)[\w ]*(tokens|length|context|size)",
    re.I,
)
_QUOTA = re.compile(
    r"insufficient_quota|insufficient (balance|credits|funds)|credit balance is too low|billing_hard", re.I
)
_PLAN = re.compile(r"exceeded your current quota", re.I)
_SOON = re.compile(r"retry in|retrydelay|per.?minute", re.I)
_FILTER = re.compile(
    r"content_filter|content_policy|content management policy|ContentPolicyViolation|flagged|"
    r"safety (system|filter|setting)|responsible.?ai",
    re.I,
)
_UNKNOWN = re.compile(
    r"model\b.{0,120}(not found|does not exist|is not available|not supported|unknown)|"
    r"(unknown|invalid|no such|unsupported) model|model_not_found|LLM Provider NOT provided|is not a valid model",
    re.I | re.S,
)
_CHANT = "repeating the same chunk"
_NO_KEY = re.compile(r"api[_ ]key.{0,60}(must be set|missing|not provided|required)|missing .{0,40}api[_ ]key", re.I)
_OLLAMA_LINE = re.compile(r"Got unexpected response from Ollama: \{'error': ['\"](.*?)['\"]\}")
_NO_LINE = re.compile(
    r"connection error|cannot connect|connection refused|all connection attempts failed|connecterror", re.I
)
_NO_JSON = re.compile(r"expecting value|jsondecode|invalid json|unable to get json|<!doctype|<html", re.I)
_WRAPPING = re.compile(r"^(?:litellm\.)?\w*(?:Error|Exception|Timeout)\w*:\s*(?:\w+(?:Exception|Error)\s*-\s*)?")
_RETRYABLE = frozenset({"rate-limit", "server", "timeout", "stalled", "cut"})
_LONGEST = 400
"""Characters of a provider's text that a person is shown."""


class NotAStream(Exception):
    """A 200 whose body is no stream of events. The text says what it is."""


def fault_of(error: BaseException, at: Endpoint, *, redact: Callable[[str], str], in_stream: bool) -> ModelFault:
    """The fault that the error is. `in_stream`: the answer had begun. The text holds no key and is one line."""
    causes = list(_causes(error))
    said = " | ".join(_once([text for e in causes if not isinstance(e, KeyError) and (text := _said(e))]))
    status = next((s for e in causes if (s := _status(e)) is not None), None)
    kind = _kind(said, status, causes, in_stream=in_stream)
    after = _retry_after(causes)
    text = redact(_text(kind, said, at, after))
    return ModelFault(kind, text, retryable=kind in _RETRYABLE, status=status, retry_after=after)


def _once(texts: list[str]) -> list[str]:
    """Each text that no text before it already holds."""
    return [text for i, text in enumerate(texts) if not any(text in before for before in texts[:i])]


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, the one that litellm wrapped, and what they came from."""
    seen: set[int] = set()
    todo: list[BaseException | None] = [error]
    while todo:
        e = todo.pop(0)
        if e is None or id(e) in seen or len(seen) > 8:
            continue
        seen.add(id(e))
        yield e
        todo += [getattr(e, "original_exception", None), e.__cause__, e.__context__]


def _said(error: BaseException) -> str:
    """The error's words, without the names that litellm puts before them."""
    text = str(getattr(error, "message", None) or error)
    while (bare := _WRAPPING.sub("", text, count=1)) != text:
        text = bare
    code = _body(error).get("code") or _body(error).get("type")
    text = " ".join(text.split())
    if (line := _OLLAMA_LINE.search(text)) is not None:
        text = line[1]
    return f"{text} ({code})" if isinstance(code, str) and code not in text and text else text


def _body(error: BaseException) -> dict[str, object]:
    """The provider's error object, as the openai library kept it."""
    body = getattr(error, "body", None)
    return cast(dict[str, object], body) if isinstance(body, dict) else {}


def _status(error: BaseException) -> int | None:
    """The HTTP status; none of those that litellm makes up for a stream or a connection that broke."""
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


def _kind(said: str, status: int | None, causes: list[BaseException], *, in_stream: bool) -> FaultKind:
    names = {type(e).__name__ for e in causes}
    if _CHANT in said:
        return "chant"
    if "NotAStream" in names or ("BrokenChunk" in names and not in_stream):
        return "bad-reply"
    if any(_OLLAMA_LINE.search(str(e)) for e in causes):
        return "server"  # its runner died; litellm makes a 400 of it
    if "ContextWindowExceededError" in names or (status in (None, 400, 413, 422, 500) and _CONTEXT.search(said)):
        return "context"
    if status == 402 or _QUOTA.search(said) or (status == 429 and _PLAN.search(said) and not _SOON.search(said)):
        return "quota"
    if status == 429:
        return "rate-limit"
    if status in (401, 403) or (_NO_KEY.search(said) and not in_stream):
        return "auth"
    if status == 408 or names & {"Timeout", "APITimeoutError"}:
        return "timeout"
    if "ConnectError" in names or _NO_LINE.search(said):
        return "server"
    if names & {"ReadTimeout", "TimeoutException"}:
        return "stalled" if in_stream else "timeout"
    if status is not None and 400 <= status < 500:
        return _refused(said, status, names)
    if not in_stream and _NO_JSON.search(said) and status in (None, 500):
        return "bad-reply"
    return "cut" if in_stream else "server"


def _refused(said: str, status: int, names: set[str]) -> FaultKind:
    """What a 4xx means beyond what its number says."""
    if status == 404:
        return "unknown-model"
    if "ContentPolicyViolationError" in names or _FILTER.search(said):
        return "filtered"
    return "unknown-model" if _UNKNOWN.search(said) else "bad-request"


def _retry_after(causes: list[BaseException]) -> float | None:
    """Seconds, from `Retry-After` (RFC 9110, 10.2.3: seconds or a date) or `retry-after-ms`."""
    for error in causes:
        for headers in (
            getattr(getattr(error, "response", None), "headers", None),
            getattr(error, "litellm_response_headers", None),
            getattr(error, "headers", None),
        ):
            if not isinstance(headers, Mapping):
                continue
            seconds = _seconds(cast(Mapping[object, object], headers))
            if seconds is not None:
                return seconds
    return None


def _seconds(headers: Mapping[object, object]) -> float | None:
    fields = {str(k).lower(): str(v).strip() for k, v in headers.items()}
    value = fields.get("retry-after", "")
    if _is_number(ms := fields.get("retry-after-ms", "")):
        return float(ms) / 1000
    if _is_number(value):
        return float(value)
    date = email.utils.parsedate_tz(value) if value else None
    return None if date is None else max(email.utils.mktime_tz(date) - time.time(), 0.0)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\d+(\.\d+)?", text) is not None


def _text(kind: FaultKind, said: str, at: Endpoint, after: float | None) -> str:
    """One line: the thing and, where there is one, the mend."""
    place = at.api_base or at.provider
    words = said if len(said) <= _LONGEST else said[:_LONGEST] + " ..."
    wait = "" if after is None else f", asks to wait {after:g} s"
    keys = " or ".join(at.key_names) or "the key"
    match kind:
        case "rate-limit":
            return f"{place} limits the rate{wait}: {words}"
        case "quota":
            return f"the account at {place} is out of quota: {words}"
        case "auth":
            return f"{place} refuses the key; check {keys}: {words}"
        case "unknown-model":
            return f"{place} does not know the model {at.model}; `rundry models` lists what is reachable: {words}"
        case "context":
            return f"the prompt is too long for {at.model}: {words}"
        case "bad-reply":
            return f"{place} does not answer like a model server; check --api-base: {words}"
        case "server" if _NO_LINE.search(said):
            return f"cannot connect to {place}; is the server running?"
        case "cut":
            return f"the answer broke off: {words}" if words else "the answer broke off"
        case _:
            return f"{place}: {words}"


def stalled(at: Endpoint, seconds: float, *, in_stream: bool) -> ModelFault:
    """Our own timer ran out between two chunks, or before the first."""
    place = at.api_base or at.provider
    text = f"{place} sent nothing for {seconds:g} s"
    return ModelFault("stalled" if in_stream else "timeout", text, retryable=True)
