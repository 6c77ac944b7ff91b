"""Import litellm once, without network and without log output. No other module of the core imports it."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import warnings
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from .litellm_patches import patch_litellm
from .provider_environment import only_variables

if TYPE_CHECKING:
    from .untyped import Untyped


def library_folder() -> Path:
    """Return litellm's folder without importing litellm, which costs 2.5 s and 165 MB."""
    spec = find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("the package litellm is missing: reinstall rundry")
    return Path(spec.submodule_search_locations[0])


_LOADING = threading.Lock()


def litellm() -> Untyped:
    """Return the module litellm. The first call blocks for seconds; use `await load_litellm()` in the event loop."""
    with _LOADING:  # two threads that import it would patch it twice
        return _imported()


def is_loaded() -> bool:
    """Return whether `litellm()` returns immediately."""
    return _imported.cache_info().currsize > 0


def begin_loading() -> None:
    """Start to import litellm in a thread, so that a later `load_litellm` waits for less. It never keeps a process."""
    if not is_loaded() and not _LOADING.locked():
        threading.Thread(target=litellm, name="litellm", daemon=True).start()


@cache
def _imported() -> Untyped:
    # Otherwise the import downloads the price map (7 to 12 s without network) and loads `.env` from the working folder.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    set_tiktoken_folder()
    with warnings.catch_warnings(), only_variables({}):
        warnings.simplefilter("ignore")
        lib: Untyped = import_module("litellm")
        import_module("openai.resources")  # otherwise the first call imports it in the event loop (0.5 s)
        # pydantic builds these at their first use, which is in the middle of the first answer, and warns on stderr.
        for late in (lib.types.utils.Delta, lib.types.utils.Message):
            late()
    lib.suppress_debug_info = True
    lib.telemetry = False
    lib.disable_hf_tokenizer_download = True  # otherwise counting blocks for 23 s with some names
    lib.disable_streaming_logging = True
    lib.disable_aiohttp_transport = True  # unlike aiohttp, httpx closes its connections with their event loop
    lib.modify_params = True  # allows a call without tools after calls with tools (Anthropic)
    patch_litellm(lib)
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        _silence(logging.getLogger(name))  # their handlers write to the real stderr, where the screen is drawn
    return lib


async def load_litellm() -> None:
    """Import litellm in a thread, without blocking the event loop."""
    if not is_loaded():
        await asyncio.to_thread(litellm)


def set_tiktoken_folder() -> None:
    """Make tiktoken read its encodings from litellm's folder instead of downloading them."""
    home = str(library_folder() / "litellm_core_utils" / "tokenizers")
    os.environ["TIKTOKEN_CACHE_DIR"] = home
    os.environ["CUSTOM_TIKTOKEN_CACHE_DIR"] = home


def _silence(logger: logging.Logger) -> None:
    logger.handlers[:] = [logging.NullHandler()]
    logger.propagate = False
    logger.setLevel(logging.CRITICAL)
