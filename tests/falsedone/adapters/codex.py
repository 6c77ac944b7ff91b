"""Codex (npm: @openai/codex), over the responses format. Its shell does all actions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..harness import DONE, Ended, Harness, Job, as_command, by_exit_and_message, start
from ..model.answer import Answer
from ..suite import Action

CONFIG = """
model = "fake"
model_provider = "fake"
check_for_update_on_startup = false
[model_providers.fake]
name = "fake"
base_url = "{address}/v1"
wire_api = "responses"
[analytics]
enabled = false
"""


class Codex(Harness):
    name = "codex"
    program = "codex"
    reads = "exit code 0 and last message"

    def answer(self, action: Action | None, tools: Sequence[str]) -> Answer:
        if action is None:
            return Answer(DONE)
        command = as_command(action)
        shells: dict[str, dict[str, Any]] = {
            "exec_command": {"cmd": command},
            "shell_command": {"command": command},
            "shell": {"command": ["bash", "-lc", command]},
        }
        for name in shells:
            if name in tools:
                return Answer(tool=name, arguments=shells[name])
        raise LookupError(f"none of {sorted(shells)} is among the tools {tools}")

    def run(self, job: Job) -> Ended:
        # Codex refuses to put the helper of its sandbox below a temporary folder
        with TemporaryDirectory(prefix=".falsedone-codex-", dir=Path.home()) as home:
            Path(home, "config.toml").write_text(CONFIG.format(address=job.address))
            options = ["--sandbox", "workspace-write", "--skip-git-repo-check", "--color", "never"]
            words = ["codex", "exec", *options, job.prompt]
            return by_exit_and_message(start(words, job, {"OPENAI_API_KEY": "none", "CODEX_HOME": home}))
