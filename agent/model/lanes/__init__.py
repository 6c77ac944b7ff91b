"""The ways to a model server. Importing this folder imports neither litellm nor an HTTP library."""

import sys

from .connections import close_pool
from .direct import DirectLane
from .patience import Patience, Timer

__all__ = ["DirectLane", "Patience", "Timer", "close_connections"]


async def close_connections() -> None:
    """Close what is kept open for the next call, on the loop that runs. No call may run."""
    await close_pool()
    if "litellm" in sys.modules:
        from .foreign import close_litellm

        await close_litellm()
