"""Claude Code (npm: @anthropic-ai/claude-code), over Anthropic's format. Its shell does all actions."""

from __future__ import annotations

from collections.abc import Sequence

from ..harness import DONE, Ended, Harness, Job, as_command, by_exit_and_message, start
from ..model.answer import Answer
from ..suite import Action


class ClaudeCode(Harness):
    name = "claude"
    program = "claude"
    reads = "exit code 0 and last message"

    def answer(self, action: Action | None, tools: Sequence[str]) -> Answer:
        if action is None:
            return Answer(DONE)
        if "Bash" not in tools:
            raise LookupError(f"Bash is not among the tools {tools}")
        return Answer(tool="Bash", arguments={"command": as_command(action), "description": "Work"})

    def run(self, job: Job) -> Ended:
        words = ["claude", "--print", "--model", "fake", "--allowedTools", "Bash", "--", job.prompt]
        quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
        return by_exit_and_message(
            start(words, job, {"ANTHROPIC_BASE_URL": job.address, "ANTHROPIC_API_KEY": "none", **quiet})
        )
