"""Connections to model servers. Importing this package imports neither litellm nor an HTTP library."""

import sys

from .connections import close_pool


async def close_connections() -> None:
    """Close connections that are kept for the next call, on the running loop. No call may be running."""
    await close_pool()
    if "litellm" in sys.modules:
        from .via_litellm.lane import close_litellm

        await close_litellm()
