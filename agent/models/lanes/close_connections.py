"""Connections to model servers. Importing this package imports neither litellm nor an HTTP library."""

from ..litellm_use.load_litellm import is_loaded
from .connections import close_pool


async def close_connections() -> None:
    """Close connections that are kept for the next call, on the running loop. No call may be running."""
    await close_pool()
    if is_loaded():
        from .via_litellm.litellm_lane import close_litellm

        await close_litellm()
