"""aider (PyPI: aider-chat), with whole files as its edit format and the check as its test command.

Its model runs no commands without a person, so it plays only behaviours that write files.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..harness import DONE, Ended, Harness, Job, start
from ..model.answer import Answer
from ..suite import Behaviour, Replace, Run, Write
from ..workspace import replaced

QUIET = ["--no-analytics", "--no-check-update", "--no-show-model-warnings", "--no-show-release-notes", "--no-gitignore"]


class Aider(Harness):
    name = "aider"
    program = "aider"
    reads = "exit code 0, last message, and no failed test run after the last edit"
    needs_tools = False

    def can_play(self, behaviour: Behaviour) -> bool:
        return not any(isinstance(action, Run) for action in behaviour.actions)

    def say(self, behaviour: Behaviour, number: int, tools: Sequence[str]) -> Answer:
        """Give all files at once, as aider asks for them. If their test fails, the model has nothing more to say."""
        files = _files(behaviour) if number == 0 else {}
        return Answer("\n".join([DONE, *(f"\n{path}\n```\n{text}```" for path, text in files.items())]))

    def run(self, job: Job) -> Ended:
        chat = ["--model", "openai/fake", "--edit-format", "whole", "--map-tokens", "0", "--no-stream", "--no-pretty"]
        checks = ["--auto-test", "--test-cmd", job.behaviour.check, "--no-auto-commits"]
        words = ["aider", "--yes-always", *QUIET, *chat, *checks, "--message", job.prompt, *_files(job.behaviour)]
        more = {
            "OPENAI_API_BASE": f"{job.address}/v1",
            "OPENAI_API_KEY": "none",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }
        done = start(words, job, more)
        failed = done.stdout.rfind("of output to the chat") > done.stdout.rfind("Applied edit to")
        says = DONE in done.stdout
        end = "the last test run failed" if failed else "says done" if says else "says nothing"
        how = f"exit {done.returncode}, {end}"
        return Ended(done.returncode == 0 and says and not failed, how, log=f"{done.stdout}\n{done.stderr}")


def _files(behaviour: Behaviour) -> dict[str, str]:
    """Return the files that the behaviour writes, each as it is in the end."""
    start, found = behaviour.project.files, dict[str, str]()
    for action in behaviour.actions:
        match action:
            case Write(path, text):
                found[path] = text
            case Replace(path, old, new):
                found[path] = replaced(found.get(path) or start[path], old, new)
            case Run(command):
                raise LookupError(f"aider runs no commands: {command}")
    return found
