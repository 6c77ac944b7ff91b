"""litellm, imported once, offline and quiet. No other module of the core imports it."""

from __future__ import annotations

import asyncio
import logging
import os
import warnings
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from .foreign import Foreign
from .patches import mend


def library_folder() -> Path:
    """Where litellm is installed; found without importing it, which costs 2.5 s and 165 MB."""
    spec = find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("litellm is not installed: install rundry again")
    return Path(spec.submodule_search_locations[0])


@cache
def litellm() -> Foreign:
    """The library. Blocks for seconds the first time: `await warm()` where that must not happen."""
    # Else the import fetches the price map (7 to 12 s without a network) and loads a `.env` of the working folder.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    point_tiktoken_home()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lib: Foreign = import_module("litellm")
        import_module("openai.resources")  # 0.5 s that the first call would pay, in the event loop
        # pydantic builds these when they are first used, and warns on stderr: in the middle of the first answer.
        for late in (lib.types.utils.Delta, lib.types.utils.Message):
            late()
    lib.suppress_debug_info = True
    lib.telemetry = False
    lib.disable_hf_tokenizer_download = True  # else counting for some names blocks for 23 s
    lib.disable_streaming_logging = True
    lib.disable_aiohttp_transport = True  # httpx closes its connections with the loop that made them
    lib.modify_params = True  # anthropic: a call without tools after calls with tools
    mend(lib)
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        _silence(logging.getLogger(name))  # they hold the real stderr, on which the screen draws
    return lib


async def warm() -> None:
    """Imports the library in a thread, so that the first call of a run does not wait for it."""
    await asyncio.to_thread(litellm)


def point_tiktoken_home() -> None:
    """Lets tiktoken find its encodings on this disk; it would go to the network for them."""
    home = str(library_folder() / "litellm_core_utils" / "tokenizers")
    os.environ["TIKTOKEN_CACHE_DIR"] = home
    os.environ["CUSTOM_TIKTOKEN_CACHE_DIR"] = home


def _silence(logger: logging.Logger) -> None:
    logger.handlers[:] = [logging.NullHandler()]
    logger.propagate = False
    logger.setLevel(logging.CRITICAL)
