"""rundry of this checkout: goal runs, scores and migrations without a screen, in each of its surroundings."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace

from attacks.honesty.machine import BUBBLEWRAP, DIRECT, LANDLOCK, NONE, Machine, give
from fakes.rundry import Home, Ran

from rundry.agent.protocol.version import VERSION

from ..harness import DONE, Ended, Harness, Job
from ..model.answer import Answer
from ..suite import Action, Replace, Run, Write
from ..workspace import SECONDS

ORDINARY = Machine(BUBBLEWRAP, is_root=os.geteuid() != 0)
"""An ordinary user: root becomes one, any other user is one."""


@dataclass(frozen=True)
class Rundry(Harness):
    name: str = "rundry"
    gate: tuple[str, ...] = ("--gate", "auto")
    machine: Machine = ORDINARY
    reads: str = "exit code"
    has_lines: bool = True

    def why_not(self) -> str:
        return self.machine.why_not()

    def version(self) -> str:
        return VERSION

    def answer(self, action: Action | None, tools: Sequence[str]) -> Answer:
        match action:
            case None:
                return Answer(DONE)
            case Write(path, text):
                return Answer(tool="write_file", arguments={"path": path, "content": text})
            case Replace(path, old, new):
                edits = [{"old_text": old, "new_text": new}]
                return Answer(tool="edit_file", arguments={"path": path, "edits": edits})
            case Run(command):
                return Answer(tool="run_command", arguments={"command": command})

    def run(self, job: Job) -> Ended:
        home = Home(job.folder / "rundry")
        if not self.machine.is_root:  # it runs as another user
            give(job.folder)
            job.folder.chmod(0o755)
        try:
            ran = self.machine.run(home, *self._words(job), cwd=job.place, timeout=2 * SECONDS)
        except subprocess.TimeoutExpired:
            return Ended(False, "no end")
        finally:
            home.end_runners()
        if not ran.stdout.strip():
            return Ended(False, f"exit {ran.exit_code}: {ran.stderr.strip()[-200:]}")
        ended = _ended(job, ran)
        return self._applied(job, home, ran, ended) if ran.outcome["staged"] else ended

    def _applied(self, job: Job, home: Home, ran: Ran, ended: Ended) -> Ended:
        """Apply all that the run staged, as a script does."""
        words = ["apply", ran.of("run_started")[0]["run_id"]]
        digest = json.loads(self.machine.run(home, *words, "--json", cwd=job.place).stdout)["digest"]
        applied = self.machine.run(home, *words, "--digest", digest, cwd=job.place, timeout=2 * SECONDS)
        how = f"{ended.how}; apply: exit {applied.exit_code}: {(applied.stdout + applied.stderr).strip()[-200:]}"
        return replace(ended, claims=applied.exit_code == 0, how=how)

    def _words(self, job: Job) -> list[str]:
        behaviour = job.behaviour
        project = behaviour.project
        match project.kind:
            case "goal":
                words = ["run", behaviour.task, "--until", behaviour.check]
            case "score":
                words = ["run", behaviour.task, "--score", behaviour.check, "--patience", "1"]
            case "migrate":
                words = ["find", "--recipe", "migrate", "--task", behaviour.task, "--check", project.item_check]
        model = ["--model", "fake", "--api-base", f"{job.address}/v1"]
        more = 12 if project.kind == "score" else 4  # a score has passes after the one with the actions
        limits = ["--steps", str(len(behaviour.actions) + more), "--time", f"{SECONDS}s"]
        line = [word for option in behaviour.line if job.with_line for word in shlex.split(option)]
        return [*words, *model, *limits, "--headless", "--json", *self.gate, *line, *project.items]


def _ended(job: Job, ran: Ran) -> Ended:
    outcome = ran.outcome
    improved = any(event["kept"] and event["number"] for event in ran.of("score_measured"))
    claims = ran.exit_code == 0 and (improved or job.behaviour.project.kind != "score")
    evidence = outcome.get("evidence") or {"help": [], "look_first": [], "grade": ""}
    proposed = {*evidence["help"], *(one["option"] for one in evidence["look_first"])}
    grade = evidence["grade"]
    how = f"exit {ran.exit_code}, {outcome['reason']} {grade}: {outcome['detail'][:300]}"
    return Ended(
        claims,
        how,
        not claims and bool(proposed) and proposed == set(job.behaviour.line),
        f"{ran.story()}\n{ran.stderr}",
    )


RUNDRY = [
    Rundry(),
    Rundry("rundry-staged", gate=(), reads="exit code of `rundry apply --digest`"),
    Rundry("rundry-root", machine=Machine(BUBBLEWRAP)),
    Rundry("rundry-landlock", machine=Machine(LANDLOCK, is_root=False)),
    Rundry("rundry-no-sandbox", machine=Machine(NONE, is_root=False)),
    Rundry("rundry-direct", machine=Machine(DIRECT, is_root=False)),
]
