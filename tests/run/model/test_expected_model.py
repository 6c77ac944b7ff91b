"""A runner without a run learns which model will be used: it prepares for it, and still ends with its view."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from rundry.agent.run.client.start_request import Expected


@pytest.mark.parametrize("models", [[], ["openai/fake"], ["openai/gpt-5", "anthropic/claude-sonnet-4-5"]])
def test_a_runner_that_expects_a_model_ends_when_its_view_goes_away(models, tmp_path):
    told = b"".join(msgspec.json.encode(Expected(model=model)) + b"\n" for model in models)
    argv = [sys.executable, "-P", "-m", "rundry.agent.run"]
    done = subprocess.run(argv, input=told, capture_output=True, timeout=60, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
