"""A process that lets litellm prepare one call, and stops it at its first connection: `python -m ...dry_run`.

Standard input is a model's spec, standard output a `Verdict`. Connections are refused by an audit hook, except those to
the metadata services of clouds (link-local addresses): a machine's role is one of the ways to have credentials.
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
from ..lanes.foreign import LitellmLane
from ..lanes.patience import Patience, Timer
from ..naming import find_model
from .credentials import Verdict
from .library import litellm

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


class Gatekeeper:
    """Refuses connections and remembers that one was wanted."""

    def __init__(self) -> None:
        self.reached = False

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        """As `sys.addaudithook` calls it. Raises OSError."""
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
            raise OSError(101, "a dry run opens no connection")


async def prepare(spec: ModelSpec, keeper: Gatekeeper) -> Verdict:
    """Whether litellm sends a request, with the environment of this process. `keeper` is an audit hook."""
    keeper.reached = False
    provider, model = await find_model(spec)
    at = resolve(spec, provider, model, os.environ)
    try:
        await _send(at)
    except ModelFault as fault:
        text = _sentence(fault.text)
        if not keeper.reached and _ABOUT_CREDENTIALS.search(text):
            return Verdict(text)
    return Verdict(None, keeper.reached)


def _sentence(text: str) -> str:
    """The words of litellm itself, without what was put before them and without a traceback behind them."""
    bare = " ".join(text.split()).partition(" Traceback (most")[0]
    return _BEHIND.sub("", _BEFORE.sub("", bare)).rstrip(". ")


async def _send(at: Endpoint) -> None:
    patience = Patience(first=_SECONDS, between=_SECONDS)
    request = Request(messages=[Message(role="user", text="hi")], max_tokens=16)
    lane, answer = LitellmLane(at, seconds=_SECONDS), Answer(max_tokens=16)
    async for _ in lane.stream(request, answer, Timer(at, patience, _SECONDS)):
        return


def main() -> None:
    """One spec in, one verdict out."""
    spec = msgspec.json.decode(sys.stdin.buffer.read(), type=ModelSpec)
    out = os.dup(1)
    os.dup2(2, 1)  # libraries print
    litellm()
    keeper = Gatekeeper()
    sys.addaudithook(keeper)
    verdict = asyncio.run(prepare(spec, keeper))
    os.write(out, msgspec.json.encode(verdict))


if __name__ == "__main__":
    main()
