"""Carry out `rundry acp`: check that it can serve an editor, then serve it until its input ends. Imports little."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import stat
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from rundry.agent import UserError, missing_extra

if TYPE_CHECKING:
    from acp.interfaces import Agent

NO_EDITOR = "rundry acp is started by an editor, which reads and writes through pipes: see docs/how-to/editors.md"


def serve(flags: Mapping[str, object]) -> int:
    """Serve the editor at the other end of standard input and output. Return the exit code. Raises UserError."""
    if (missing := missing_extra("acp", "acp")) is not None:
        raise UserError(f"the package for editors (ACP) is not installed; {missing}")
    from ..start.new_run import Setup

    Setup(flags, headless=False, begins=False)  # a wrong option or config is one line here
    modes = [os.fstat(descriptor).st_mode for descriptor in (0, 1)]
    if not all(stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) for mode in modes):
        raise UserError(NO_EDITOR)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="rundry acp: %(message)s")
    return asyncio.run(_serve(flags))


async def _serve(flags: Mapping[str, object]) -> int:
    from .transport import StdioTransport

    transport = await StdioTransport.open()  # before anything else can print
    from acp.agent.connection import AgentSideConnection

    from .acp_server import AcpServer

    server = AcpServer(flags)
    connection = AgentSideConnection(cast("Agent", server), transport, listening=False, use_unstable_protocol=True)
    listening = asyncio.ensure_future(connection.listen())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, listening.cancel)
    try:
        await asyncio.wait({listening})  # until the end of the input, or until an editor ends this process
    finally:
        await server.close()
        await connection.close()
    return 0
