"""Asks litellm about many providers in one process without a network: JSON lines in, JSON lines out.

A line in: `{"name": model, "env": variables}`. A line out: what `litellm.validate_environment` says is missing, and
litellm's own refusal of a call, or null where it would have sent one.
"""

from __future__ import annotations

import asyncio
import os
import sys

import msgspec

from rundry.agent.models.litellm_use.dry_run import ConnectionBlocker, can_send
from rundry.agent.models.litellm_use.load_litellm import litellm
from rundry.agent.protocol import ModelSpec


class Case(msgspec.Struct):
    """One model and the environment that it is asked about with."""

    name: str
    env: dict[str, str] = {}


class Asked(msgspec.Struct):
    """What litellm says of it."""

    missing: list[str]
    refused: str | None
    reached: bool


def main() -> None:
    """Read all cases, answer each."""
    cases = msgspec.json.decode(sys.stdin.buffer.read(), type=list[Case])
    lib, blocker, plain = litellm(), ConnectionBlocker(), dict(os.environ)
    sys.addaudithook(blocker)
    out: list[Asked] = []
    for case in cases:
        os.environ.clear()
        os.environ.update({**plain, **case.env})
        lib.in_memory_llm_clients_cache.flush_cache()
        result = asyncio.run(can_send(ModelSpec(name=case.name), blocker))
        out.append(Asked(lib.validate_environment(case.name)["missing_keys"], result.refused, result.reached))
    sys.stdout.buffer.write(msgspec.json.encode(out))


if __name__ == "__main__":
    main()
