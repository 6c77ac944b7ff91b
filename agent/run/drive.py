"""The main loop of every run: decide and perform, until there is an outcome. Kinds of loops differ in `decide()`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

from ..protocol import Again, Confirm, Finish, JudgeResult, Outcome, Restart, StallDetected, Stalled, Wait, WorkResult
from ..step.detect_stalls import stall_end
from .end.during_run import confirm
from .end.judge_run import judge_result
from .loops.decider import decider
from .start.settle import settle_open
from .units.restart import restart

if TYPE_CHECKING:
    from .run_driver import RunDriver


async def drive(driver: RunDriver, results: Sequence[WorkResult] = ()) -> Outcome:
    """Drive the run to its outcome. Raises RundryError only for errors that no outcome can express (a broken journal).

    `results`: the results of a step that an earlier runner did not finish.
    """
    run = driver.run
    decide = decider(run.facts.spec.loop)
    while True:
        await driver.between_steps()
        decision = await driver.end_before_deciding() or decide(run.states.state(results))
        match decision:
            case Again():
                results = await driver.perform(decision)
            case Wait():
                await driver.wait(decision)
                results = ()
            case Restart():
                await restart(run, decision)
                results = ()
            case Stalled(signature=signature):
                response = stall_end(run.ctx)
                run.ctx.events.record(StallDetected(kind="stagnation", signature=signature, response=response))
                results = ()
            case JudgeResult():
                await judge_result(run)  # keeps `results`, too
            case Confirm():
                await confirm(run)  # keeps `results`: the loop decides on them afterwards
            case Finish():
                outcome = await driver.end(decision)
                if outcome is not None:
                    return outcome
                results = await settle_open(run)
            case _:
                assert_never(decision)
