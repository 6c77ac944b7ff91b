"""rundry as an agent of Inspect: copy this file next to your task. It runs in Inspect's Python, without rundry.

The sandbox of the sample needs the `rundry` command and git. All model calls go through Inspect's bridge.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from uuid import uuid4

from inspect_ai.agent import Agent, AgentState, agent, sandbox_agent_bridge
from inspect_ai.model import user_prompt
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import TaskState
from inspect_ai.util import sandbox, store

OUTCOME = "rundry"
"""Where the store has the outcome of the run: reason, detail, complete, exit_code, grade, seconds, run."""


@agent
def rundry(check: str, *, command: str = "rundry", options: Sequence[str] = (), port: int = 13131) -> Agent:
    """Run the sample's prompt until `check` passes. `options`: more options of `rundry run`."""

    async def execute(state: AgentState) -> AgentState:
        runs = f"/tmp/rundry-{uuid4().hex}"  # an empty folder: no older run can be taken for this one
        async with sandbox_agent_bridge(state, port=port) as bridge:
            words = ["run", "-", "--headless", "--gate=auto", f"--until={check}", f"--runs-dir={runs}"]
            model = ["--model=inspect", f"--api-base=http://127.0.0.1:{bridge.port}/v1"]
            task = user_prompt(state.messages).text
            ran = await sandbox().exec([command, *words, *model, *options], input=task)
            exported = await sandbox().exec(
                [command, "export", f"--runs-dir={runs}", "--format=atif", f"--output={runs}/trajectory.json"]
            )
            if not exported.success:  # it never began: an error of the sample, and not a score of 0
                raise RuntimeError(f"rundry did not run (exit code {ran.returncode}): {ran.stderr[-2000:]}")
            trajectory = json.loads(await sandbox().read_file(f"{runs}/trajectory.json"))
            outcome = trajectory.get("extra", {}).get("outcome")
            if outcome is None or outcome["exit_code"] != ran.returncode:
                raise RuntimeError(f"the run has no end that fits its exit code {ran.returncode}: {ran.stderr[-2000:]}")
            if outcome["reason"] in ("error", "refused"):  # the bridge or the program failed, and not the model
                raise RuntimeError(f"rundry ended with {outcome['reason']}: {outcome['detail']}")
            store().set(OUTCOME, {**outcome, "run": trajectory["session_id"]})
        return bridge.state

    return execute


@scorer(metrics=[accuracy(), stderr()])
def rundry_done() -> Scorer:
    """Score 1 if rundry judged the run as done. Use it next to a scorer that rundry knows nothing about."""

    async def score(state: TaskState, target: Target) -> Score:
        outcome = state.store.get(OUTCOME)
        if outcome is None:
            raise RuntimeError("no run of rundry in this sample")
        done = outcome["reason"] == "done" and outcome["complete"] and outcome["exit_code"] == 0
        return Score(value=1 if done else 0, answer=outcome["reason"], explanation=outcome["detail"], metadata=outcome)

    return score
