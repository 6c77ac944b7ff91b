"""Let litellm prepare one call and stop it at its first connection, in a process of its own (`python -m ...dry_run`).

The process reads a model's spec from standard input and writes a `DryRunResult` to standard output. An audit hook
refuses connections, except to the metadata services of clouds (link-local addresses), which can provide credentials.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from typing import Any, cast

import msgspec

from ...protocol import Message, ModelFault, ModelSpec, Request
from ..answer import Answer
from ..endpoint import Endpoint, resolve
from ..lanes.timer import StallTimeouts, Timer
from ..lanes.via_litellm.litellm_lane import LitellmLane
from ..naming import find_model
from ..request_fields import RequestFields
from .credentials import DryRunResult
from .load_litellm import litellm

_METADATA = frozenset({
    "169.254.169.254", "169.254.170.2", "169.254.170.23", "fd00:ec2::254", "metadata.google.internal",
})  # fmt: skip
_ABOUT_CREDENTIALS = re.compile(
    r"credential|api[_ -]?key|api[_ -]?base|\bkey\b|\btoken\b|secret|not set|log ?in|auth|account|"
    r"No module named|pip install|package is required|must be set|is required",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"^(?:[\w-]+ refuses the key; check [^:]*: |no credentials for [\w-]+: |litellm cannot [^:]*: |[\w-]+: )?"
    r"(?:\w+(?:Exception|Error) [\w ]*- )?"
)
_BEHIND = re.compile(r"; set [A-Z_]+(?: and [A-Z_]+)*$")
_SECONDS = 20.0


class ConnectionBlocker:
    """An audit hook that refuses connections and records whether one was attempted."""

    def __init__(self) -> None:
        self.reached = False

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        """Handle one audit event (see `sys.addaudithook`). Raises OSError for a connection."""
        if event == "socket.connect":
            host = cast("tuple[object, ...]", args[1])[0] if isinstance(args[1], tuple) else ""
        elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
            host = args[0]
        else:
            return
        if isinstance(host, bytes):
            host = host.decode(errors="replace")
        if host not in _METADATA:
            self.reached = True
            raise OSError(101, "a dry run does not open connections")


async def can_send(spec: ModelSpec, blocker: ConnectionBlocker) -> DryRunResult:
    """Return whether litellm can send a request with this environment. `blocker` must be an audit hook already."""
    blocker.reached = False
    provider, model = await find_model(spec)
    at = resolve(spec, provider, model, os.environ)
    try:
        await _send(at)
    except ModelFault as fault:
        text = _sentence(fault.text)
        if not blocker.reached and _ABOUT_CREDENTIALS.search(text):
            return DryRunResult(text)
    return DryRunResult(None, blocker.reached)


def _sentence(text: str) -> str:
    """Return litellm's own message, without prefixes and without a traceback after it."""
    bare = " ".join(text.split()).partition(" Traceback (most")[0]
    return _BEHIND.sub("", _BEFORE.sub("", bare)).rstrip(". ")


async def _send(at: Endpoint) -> None:
    timeouts = StallTimeouts(first=_SECONDS, between=_SECONDS)
    request = Request(messages=[Message(role="user", text="hi")], max_tokens=16)
    lane, answer = LitellmLane(at, RequestFields(at, None), seconds=_SECONDS), Answer(max_tokens=16)
    async for _ in lane.stream(request, answer, Timer(at, timeouts, _SECONDS)):
        return


def main() -> None:
    """Read one spec from standard input and write the result of its dry run to standard output."""
    spec = msgspec.json.decode(sys.stdin.buffer.read(), type=ModelSpec)
    out = os.dup(1)
    os.dup2(2, 1)  # libraries print to standard output
    litellm()
    blocker = ConnectionBlocker()
    sys.addaudithook(blocker)
    result = asyncio.run(can_send(spec, blocker))
    os.write(out, msgspec.json.encode(result))


if __name__ == "__main__":
    main()
