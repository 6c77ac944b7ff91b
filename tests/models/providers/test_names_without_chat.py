"""Providers of litellm without chat models: a run with one is refused before it starts, and so is a call."""

from __future__ import annotations

import os
import subprocess
import sys

import msgspec
import pytest

from rundry.agent.models.litellm_use.credentials import is_unlisted
from rundry.agent.models.price_table import providers_listed
from rundry.agent.protocol import ModelFault, Refusal

SPEECH_SEARCH_AND_TOOLS = [
    "aws_polly", "black_forest_labs", "brave", "deepgram", "elevenlabs", "exa_ai", "firecrawl", "google_pse", "jina_ai",
    "langfuse", "milvus", "pg_vector", "recraft", "runwayml", "searxng", "stability", "tavily", "topaz",
]  # fmt: skip
OF_CHATS = ["gmi", "veniceai", "sarvam", "empiriolabs", "nlp_cloud", "gemini", "nebius", "ollama", "langgraph", "v0"]

CODE = """
import asyncio, os, sys, msgspec
from rundry.agent.models.litellm_use.dry_run import ConnectionBlocker
from rundry.agent.models.litellm_use.load_litellm import litellm
from rundry.agent.models.open_model import open_model
from rundry.agent.protocol import Message, ModelFault, ModelSpec, Refusal, Request

async def look(name):
    model = await open_model(ModelSpec(name=f"{name}/some-model"), {**os.environ})
    refused = told = ""
    blocker.reached = False
    try:
        await model.prepare()
    except Refusal as refusal:
        refused = str(refusal)
    is_silent = not blocker.reached
    try:
        async for _ in model.stream(Request(messages=[Message(role="user", text="hi")], max_tokens=16)):
            pass
    except ModelFault as fault:
        told = fault.text
    return [refused, told, is_silent]

async def main():
    print(msgspec.json.encode({name: await look(name) for name in sys.argv[1:]}).decode())

litellm()
blocker = ConnectionBlocker()
sys.addaudithook(blocker)
out = os.dup(1); os.dup2(2, 1); sys.stdout = os.fdopen(out, "w")
asyncio.run(main())
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str, bool]]:
    """For each provider name of litellm: the refusal before a run, the fault of a call, and whether nothing was sent.

    It has no network, and no key of any provider.
    """
    home = tmp_path_factory.mktemp("home")
    names = sorted(name for name in providers_listed() if is_unlisted(name) or name in OF_CHATS)
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "AWS_EC2_METADATA_DISABLED": "true"}
    done = subprocess.run([sys.executable, "-P", "-c", CODE, *names], capture_output=True, env=env, timeout=200)
    assert done.returncode == 0, done.stderr.decode()
    return msgspec.json.decode(done.stdout, type=dict[str, tuple[str, str, bool]])


@pytest.mark.parametrize("name", SPEECH_SEARCH_AND_TOOLS)
def test_a_name_without_chat_models_is_refused(seen, name):
    message = f"{name} has no chat models: choose a model of another provider with --model (`rundry models`)"
    assert seen[name][:2] == (message, message)


@pytest.mark.parametrize("name", OF_CHATS)
def test_a_name_with_chat_models_is_accepted(seen, name):
    assert "no chat models" not in "".join(seen[name][:2])


def test_all_names_of_litellm_are_either_refused_before_the_run_or_never(seen):
    assert len(seen) > 60
    assert [name for name, (refused, told, _) in seen.items() if bool(refused) != ("no chat models" in told)] == []


def test_no_words_of_litellms_own_about_its_routes_reach_the_person(seen):
    words = ("Unmapped", "LLM Provider NOT provided", "bytes-like")
    assert [name for name, found in seen.items() for word in words if word in "".join(found[:2])] == []


def test_to_find_that_out_nothing_is_sent(seen):
    assert [name for name, (*_, is_silent) in seen.items() if not is_silent] == []


async def test_a_call_of_another_model_is_refused_with_the_same_words(opened):
    asked = await opened(None, "elevenlabs/eleven_v3")
    with pytest.raises(Refusal, match="elevenlabs has no chat models"):
        await asked.model.prepare()
    with pytest.raises(ModelFault, match="elevenlabs has no chat models") as caught:
        await asked.ask()
    assert (caught.value.kind, caught.value.retryable) == ("unknown-model", False)
