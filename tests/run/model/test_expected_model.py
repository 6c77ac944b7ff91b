"""A runner without a run learns which model was chosen: it prepares for it, and still ends with its view."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from fakes.played_events import started
from fakes.screens import PlayedStart, Stage
from painted import until

from rundry.agent import ModelSpec
from rundry.agent.run.client.start_request import Expected

KEYS = {"GEMINI_API_KEY": "g", "OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a"}
THROUGH_LITELLM = [
    ModelSpec(name="gemini/gemini-2.5-flash"),
    ModelSpec(name="gemini/a-model-that-no-table-lists"),
    ModelSpec(name="gemini/x", api_base="http://127.0.0.1:9"),
    ModelSpec(name="openai/gpt-5-codex"),
    ModelSpec(name="openai/responses/gpt-5"),
    ModelSpec(name="a-name-that-no-table-lists"),
]
WITHOUT_IT = [
    ModelSpec(name="openai/gpt-4.1"),
    ModelSpec(name="gpt-4.1"),
    ModelSpec(name="anthropic/claude-sonnet-4-5"),
    ModelSpec(name="ollama_chat/qwen3:8b"),
    ModelSpec(name="any-name", api_base="http://127.0.0.1:9/v1"),
    ModelSpec(name="demo/scripted"),
    ModelSpec(name="cohere/command-r-plus"),
    ModelSpec(name="openai/x", api_base="http://127.0.0.1:9/v1", key_from="NOT_SET"),
]
"""Direct providers, the demo, and models whose key is missing."""


@contextmanager
def warm(log: Path, *expected: Expected) -> Iterator[subprocess.Popen[bytes]]:
    """A runner without a run. Python writes each module that it imports to the log, after its import."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")} | KEYS
    argv = [sys.executable, "-X", "importtime", "-P", "-m", "rundry.agent.run"]
    with log.open("wb") as errors:
        runner = subprocess.Popen(argv, stdin=subprocess.PIPE, stderr=errors, env=environment, cwd=log.parent)
    assert runner.stdin is not None
    try:
        for line in expected:
            runner.stdin.write(msgspec.json.encode(line) + b"\n")
        runner.stdin.flush()
        yield runner
    finally:
        runner.stdin.close()
        runner.kill()
        runner.wait()


def imported(log: Path) -> set[str]:
    return {line.rpartition("|")[2].strip() for line in log.read_text().splitlines() if line.startswith("import time:")}


def test_a_runner_imports_litellm_as_soon_as_such_a_model_is_chosen(tmp_path):
    log = tmp_path / "log"
    with warm(log, Expected(model=THROUGH_LITELLM[0])) as runner:
        end = time.monotonic() + 60
        while "openai" not in imported(log) and time.monotonic() < end:
            assert runner.poll() is None
            time.sleep(0.05)
        assert "openai" in imported(log)  # only litellm imports it


@pytest.mark.parametrize("spec", [*THROUGH_LITELLM, *WITHOUT_IT], ids=lambda spec: spec.name)
def test_litellm_is_imported_early_for_the_models_that_need_it_and_for_no_other(spec, tmp_path):
    code = (
        "import os, sys, threading, msgspec\n"
        "from rundry.agent.models.open_model import begin_loading_for\n"
        "from rundry.agent.protocol import ModelSpec\n"
        "begin_loading_for(msgspec.json.decode(sys.argv[1], type=ModelSpec), os.environ)\n"
        "print(any(thread.name == 'litellm' for thread in threading.enumerate()), flush=True)\n"
        "os._exit(0)\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")} | KEYS
    argv = [sys.executable, "-P", "-c", code, msgspec.json.encode(spec).decode()]
    done = subprocess.run(argv, capture_output=True, timeout=60, env=environment, cwd=tmp_path, check=False)
    assert (done.stdout.decode().strip(), done.stderr) == (str(spec in THROUGH_LITELLM), b"")


@pytest.mark.parametrize("is_typing", [False, True])
@pytest.mark.parametrize(
    "names", [[], ["openai/fake"], ["openai/gpt-5", "anthropic/claude-sonnet-4-5"], ["gemini/gemini-2.5-flash"]]
)
def test_a_runner_that_expects_a_model_ends_when_its_view_goes_away(names, is_typing, tmp_path):
    lines = [msgspec.json.encode(Expected(model=ModelSpec(name=name), is_typing=is_typing)) + b"\n" for name in names]
    argv = [sys.executable, "-P", "-m", "rundry.agent.run"]
    done = subprocess.run(
        argv, input=b"".join(lines), capture_output=True, timeout=60, cwd=tmp_path, env={**os.environ, **KEYS}
    )
    assert (done.returncode, done.stderr) == (0, b"")


async def test_the_screen_names_the_model_before_anything_is_typed_and_again_when_it_changes(tmp_path):
    stage = Stage(start=PlayedStart(tmp_path, model="gemini/one"))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: stage.link.expected == [("gemini/one", False)])
        stage.controller.switch_model(ModelSpec(name="gemini/two"))
        assert stage.link.expected[1:] == [("gemini/two", False)]
        await pilot.press("h", "i")
        await until(pilot, lambda: stage.link.expected[2:] == [("gemini/two", True)])


async def test_a_run_that_has_begun_prepares_by_itself(tmp_path):
    stage = Stage()
    async with stage.app.run_test(size=(80, 24)) as pilot:
        stage.play(started())
        await stage.caught_up(pilot)
        await pilot.press("h")
        await pilot.pause()
        assert stage.link.expected == []
