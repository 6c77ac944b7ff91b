"""What a real llama.cpp server says, and how it counts (RUNDRY_MODELS)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.models.real import real_server

from rundry.agent.protocol import Message, UsagePart
from rundry.agent.tools.tool_table import TOOLS

CODE = Path(__file__).read_text()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with real_server() as base:
        yield base


async def test_a_real_server_says_its_size_slots_temperature_and_tools(opened, server: str):
    model = (await opened(server, "tiny")).model
    served = model.served
    assert (served.kind, served.self_hosted, served.parameters) == ("llama.cpp", True, 134_515_008)
    assert (served.template_knows_tools, served.slots, served.temperature) == (False, 1, 0.8)
    assert (model.window, model.window_known, model.sees_images) == (4096, True, False)


@pytest.mark.parametrize("tools", [(), ("read_file",), ("read_file", "edit_file", "write_file", "run_command")])
async def test_our_count_of_a_prompt_is_near_that_of_a_real_server(opened, server: str, tools: tuple[str, ...]):
    asked = await opened(server, "tiny")
    messages = [Message(role="system", text="You read code."), Message(role="user", text=CODE[:2_000])]
    specs = [TOOLS[name].spec for name in tools]
    await asked.ask(messages=messages, tools=specs, max_tokens=1)
    usage = asked.of(UsagePart)[-1]
    counted, real = asked.model.count(messages, specs), usage.tokens.in_
    assert 0.9 * real <= counted <= 1.15 * real, (counted, real)
