"""Faults of direct connections to a server: an HTTP error, an error in the stream, a broken connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from ...protocol import ModelFault, UserError
from ..lanes.proxies import proxy_for
from ..lanes.server_sent_events import BrokenStream, ErrorInStream, NotAStream
from .connection_faults import problem_of, proxy_refusal
from .fault_kinds import kind_of
from .fault_messages import fault
from .reported import ReportedError, read_error
from .retry_after import headers_delay

if TYPE_CHECKING:
    from ..endpoint import Endpoint


class HttpRefusal(msgspec.Struct, frozen=True):
    """An HTTP answer with another status than 200."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str = ""
    """The address to which the request was sent."""


def fault_of_response(answer: HttpRefusal, at: Endpoint) -> ModelFault:
    """Return the fault that the server reports instead of an answer."""
    if answer.status == 407:  # only a proxy sends it
        problem = proxy_refusal(407, "", proxy_for(answer.url, local=at.local))
        return ModelFault(problem.kind, problem.text(at.api_base or at.provider), status=407)
    if 300 <= answer.status < 400:
        words = f"it redirects to {answer.headers.get('Location') or 'another address'}"
        return fault("bad-reply", words, at, status=answer.status)
    fields = {name.lower(): value for name, value in answer.headers.items()}
    reported = read_error(answer.body, _charset(fields.get("content-type", "")))
    if kind := fields.get("x-amzn-errortype", "").partition(":")[0]:  # Bedrock's body has only the message
        reported = msgspec.structs.replace(reported, codes=(*reported.codes, kind))
    waits = [s for s in (headers_delay(answer.headers, answer.status), reported.delay) if s is not None]
    reported = msgspec.structs.replace(reported, delay=max(waits, default=None))
    kind = kind_of(reported, answer.status, begun=False)
    text = reported.text or f"HTTP {answer.status}"
    return fault(kind, text, at, status=answer.status, after=reported.delay, reported=reported)


def _charset(content_type: str) -> str | None:
    """Return the charset that the header names."""
    _, found, rest = content_type.lower().partition("charset=")
    return rest.partition(";")[0].strip(" \"'") or None if found else None


def fault_of_stream(error: ErrorInStream | BrokenStream | NotAStream, at: Endpoint, *, begun: bool) -> ModelFault:
    """Return the fault that a stream shows. `begun`: part of the answer had arrived."""
    match error:
        case NotAStream():
            return fault("bad-reply", str(error), at)
        case BrokenStream():
            return fault("cut" if begun else "bad-reply", str(error), at)
        case ErrorInStream():
            reported = read_error(error.error)
            kind = kind_of(reported, reported.status, begun=begun)
            text = _with_code(reported)
            return fault(kind, text, at, status=reported.status, after=reported.delay, reported=reported)


def _with_code(reported: ReportedError) -> str:
    return reported.text or ", ".join(reported.codes) or "the server reported an error"


def fault_of_exception(error: Exception, at: Endpoint, url: str, *, begun: bool) -> ModelFault | None:
    """Return the fault of a connection; None for any other error. `url`: the address of the request."""
    import aiohttp

    place = at.api_base or at.provider
    if isinstance(error, UserError):  # the environment names a proxy that cannot be used
        return ModelFault("bad-request", str(error))
    if (problem := problem_of(error, url, proxy_for(url, local=at.local))) is not None:
        return ModelFault(problem.kind, at.redact(problem.text(place)), retryable=problem.retryable)
    match error:
        case aiohttp.InvalidURL():
            return ModelFault("bad-request", f"{place} is not the address of a model server")
        case aiohttp.ClientResponseError() if "content-encoding" in error.message:
            return fault("bad-reply", "it compresses its answer with a method that was not asked for", at)
        case aiohttp.ClientResponseError():
            return fault("bad-reply", f"it does not speak HTTP: {error.message}", at)
        case aiohttp.ClientError() | OSError():
            words = str(error) or type(error).__name__
            return fault("cut" if begun else "server", words if begun else f"the connection broke: {words}", at)
        case _:
            return None
