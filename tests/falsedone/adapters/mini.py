"""mini-swe-agent (PyPI: mini-swe-agent), over chat completions: one bash command for each answer."""

from __future__ import annotations

from collections.abc import Sequence

from ..harness import DONE, Ended, Harness, Job, as_command, printed_version, start
from ..model.answer import Answer
from ..suite import Action

SUBMIT = f"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo '{DONE}'"


class MiniSweAgent(Harness):
    name = "mini-swe-agent"
    program = "mini"
    reads = "exit code 0 and a submission"
    needs_tools = False

    def answer(self, action: Action | None, tools: Sequence[str]) -> Answer:
        command = SUBMIT if action is None else as_command(action)
        if "bash" in tools:
            return Answer(tool="bash", arguments={"command": command})
        return Answer(f"I work.\n\n```mswea_bash_command\n{command}\n```\n")

    def version(self) -> str:
        return printed_version("mini", "--help")

    def run(self, job: Job) -> Ended:
        more = {
            "MSWEA_CONFIGURED": "true",
            "MSWEA_GLOBAL_CONFIG_DIR": str(job.home),
            "MSWEA_COST_TRACKING": "ignore_errors",
            "OPENAI_API_BASE": f"{job.address}/v1",
            "OPENAI_API_KEY": "none",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }
        out = job.folder / "trajectory.json"
        words = [
            "mini",
            "--model",
            "openai/fake",
            "--yolo",
            "--exit-immediately",
            "--output",
            str(out),
            "--task",
            job.prompt,
        ]
        done = start(words, job, more)
        submitted = out.exists() and '"Submitted"' in out.read_text()
        how = f"exit {done.returncode}, {'submitted' if submitted else 'not submitted'}"
        return Ended(done.returncode == 0 and submitted, how, log=f"{done.stdout}\n{done.stderr}")
