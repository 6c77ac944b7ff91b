"""opencode (npm: opencode-ai), over chat completions. Its shell does all actions."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..harness import DONE, Ended, Harness, Job, as_command, by_exit_and_message, start
from ..model.answer import Answer
from ..suite import Action


class OpenCode(Harness):
    name = "opencode"
    program = "opencode"
    reads = "exit code 0 and last message"

    def answer(self, action: Action | None, tools: Sequence[str]) -> Answer:
        if action is None:
            return Answer(DONE)
        if "bash" not in tools:
            raise LookupError(f"bash is not among the tools {tools}")
        return Answer(tool="bash", arguments={"command": as_command(action), "description": "Work"})

    def run(self, job: Job) -> Ended:
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "fake",
            "options": {"baseURL": f"{job.address}/v1", "apiKey": "none"},
            "models": {"fake": {"name": "fake", "limit": {"context": 100_000, "output": 10_000}}},
        }
        config = {"autoupdate": False, "model": "fake/fake", "small_model": "fake/fake", "provider": {"fake": provider}}
        file = job.home / ".config" / "opencode" / "opencode.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(config))
        quiet = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}
        return by_exit_and_message(start(["opencode", "run", "--auto", job.prompt], job, quiet))
