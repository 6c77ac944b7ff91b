"""A bare litellm client: streams one answer, prints when it had all of it (monotonic seconds) as JSON."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from typing import Any


def load_litellm() -> Any:
    """As lean as it can be had: no price map from the network, no .env."""
    os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", LITELLM_MODE="PRODUCTION")
    import litellm

    litellm.suppress_debug_info = True
    return litellm


async def answer(litellm: Any, base_url: str, messages: list[dict[str, Any]], **more: Any) -> int:
    """Streams it to its end; the number of characters."""
    stream = await litellm.acompletion(
        model="openai/fake", api_base=base_url, api_key="none", messages=messages, stream=True, max_retries=0,
        stream_options={"include_usage": True}, **more,
    )  # fmt: skip
    size = 0
    async for chunk in stream:
        if chunk.choices:
            size += len(chunk.choices[0].delta.content or "")
    return size


if __name__ == "__main__":
    found = asyncio.run(answer(load_litellm(), sys.argv[1], [{"role": "user", "content": "go"}]))
    print(json.dumps({"done": time.monotonic(), "characters": found}))
