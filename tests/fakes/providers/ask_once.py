"""Open a model in a process of its own, ask it once, and print what happened as JSON: `python -m ... BASE NAME`."""

from __future__ import annotations

import asyncio
import json
import os
import sys

from rundry.agent.models.lanes.close_connections import close_connections
from rundry.agent.models.lanes.timer import StallTimeouts
from rundry.agent.models.open_model import open_model
from rundry.agent.protocol import Message, ModelFault, ModelSpec, Refusal, Request, TextPart, UserError


async def ask(base: str, name: str) -> dict[str, object]:
    """What the start of a run, and a call, report."""
    found: dict[str, object] = {"start": "", "kind": "", "text": ""}
    try:
        spec = ModelSpec(name=name, api_base=base or None, context=8000)
        model = await open_model(spec, os.environ, timeouts=StallTimeouts(first=20, between=20))
    except UserError as refused:
        return {**found, "start": str(refused)}
    try:
        await model.probe()
    except Refusal as refused:
        found["start"] = str(refused)
    try:
        request = Request(messages=[Message(role="user", text="go")], max_tokens=50)
        parts = [part async for part in model.stream(request)]
        found["text"] = "".join(part.text for part in parts if isinstance(part, TextPart))
    except ModelFault as fault:
        found |= {"kind": fault.kind, "text": fault.text, "retryable": fault.retryable}
    await close_connections()
    return found


if __name__ == "__main__":
    print(json.dumps(asyncio.run(ask(*sys.argv[1:3]))))
