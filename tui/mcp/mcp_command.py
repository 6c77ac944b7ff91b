"""Carry out `rundry mcp`: check the command line, then serve until the client closes its end or a signal comes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Mapping, Sequence

from rundry.agent import UserError, missing_extra

from ..text.show_text import one_line
from .allowed_runs import Allowed, read_allowed
from .client_runs import require_usable

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def serve(flags: Mapping[str, object], folders: Sequence[str]) -> int:
    """Serve until the client is gone. Ends the process with exit code 0. Raises RundryError."""
    if (missing := missing_extra("mcp", "mcp")) is not None:
        raise UserError(f"rundry mcp: the MCP SDK is not installed; {missing}")
    allowed = read_allowed(flags, folders)
    require_usable(allowed)
    if sys.stdin.isatty():
        print("rundry: serving MCP on standard input and output; Ctrl+D ends it", file=sys.stderr, flush=True)
    _log_to_stderr()
    from .mcp_wire import claimed_streams

    with claimed_streams() as (source, target):
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_serve(allowed, source, target))
        sys.stderr.flush()
        os._exit(0)  # a thread may still wait for the client


async def _serve(allowed: Allowed, source: int, target: int) -> None:
    from ..control.own_runs import OwnRuns
    from .mcp_server import McpServer
    from .schemas import tools_of

    own = OwnRuns(allowed.journals, at_once=allowed.at_once, starts=allowed.starts, stops_on_exit=allowed.stops_on_exit)
    server = McpServer(tools_of(allowed, own))
    serving = asyncio.ensure_future(server.serve(source, target))
    for name in _SIGNALS:
        asyncio.get_running_loop().add_signal_handler(name, serving.cancel)
    try:
        await serving
    except asyncio.CancelledError:
        pass
    except BaseExceptionGroup as errors:
        if errors.subgroup(OSError) is None:  # otherwise the client is gone
            raise
    finally:
        await own.close(server.client)


class _OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """Return the record in one line: it may quote the client."""
        return one_line(f"rundry: {record.name}: {record.getMessage()}")[:600]


def _log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_OneLine())
    logging.basicConfig(level=logging.ERROR, handlers=[handler], force=True)
