"""Run commands once in a clean checkout of a result."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

import msgspec

from ...protocol import Confirmed
from ...step.resources.last_line import output_reported
from ...verdict.checks.check_environment import prepared_environment
from ...verdict.checks.run_check import CheckResult, run_check
from ...verdict.counting.compare_counts import why_suspect
from ...verdict.counting.counted import Counted
from .checkout import Checkout, Result, checkout
from .checkout_failed import CheckoutFailed
from .dependencies import unchanged

if TYPE_CHECKING:
    from ...state.recorder import Events

_NAMED = 3
"""Maximum number of missing tests that a reason names."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the commands confirm the result, with the output of the command that failed."""

    result: Confirmed
    detail: str = ""
    output: str = ""


async def run_trial(
    result: Result, commands: Sequence[str], seconds: float, *, any_: bool = False, events: Events | None = None
) -> Trial:
    """Run the commands. Each (with `any_`: one of them) must pass within `seconds`. Never raises CheckoutFailed.

    `events` gets the newest line of output while they run.
    """
    try:
        return await _tried(result, commands, seconds, any_=any_, events=events)
    except CheckoutFailed as why:
        return Trial(result=Confirmed.NOT_CONFIRMED, detail=str(why))


async def _tried(
    result: Result, commands: Sequence[str], seconds: float, *, any_: bool, events: Events | None
) -> Trial:
    root = str(result.workspace.root)
    async with checkout(result) as made:
        if made.original is not None and (named := next((command for command in commands if root in command), None)):
            raise CheckoutFailed(
                f"`{named}` names the workspace by its absolute path, and only bubblewrap can replace that"
            )
        ran = [await _run(made, command, seconds, events) for command in commands]
    failed = [one for one in ran if not one.passed]
    if not failed or (any_ and len(failed) < len(ran)):
        _refuse_fewer_tests(result, [one for one in ran if one.passed], any_=any_)
        await asyncio.to_thread(_still_unchanged, result)
        return Trial(result=Confirmed.PASSED)
    first = failed[0]
    if made.original is not None and root in first.output:
        raise CheckoutFailed(f"the check uses the path {root}; only bubblewrap can mount the checkout there")
    return Trial(result=Confirmed.FAILED, detail=_why(first), output=first.output)


async def _run(made: Checkout, command: str, seconds: float, events: Events | None) -> CheckResult:
    reporting = nullcontext() if events is None else output_reported(events, command)
    with prepared_environment(made.sandbox, made.env) as environment, reporting as report:
        return await run_check(
            command,
            made.workspace,
            env=environment.env,
            timeout=seconds,
            sandbox=made.sandbox,
            access=environment.access,
            on_output=report,
        )


def _refuse_fewer_tests(result: Result, passed: Sequence[CheckResult], *, any_: bool) -> None:
    """Raise CheckoutFailed if the commands ran fewer tests than in the workspace.

    With `any_`, one command that ran all its tests is enough.
    """
    found = [why for one in passed if (why := _fewer(result, one)) is not None]
    if found and not (any_ and len(found) < len(passed)):
        raise CheckoutFailed(found[0])


def _fewer(result: Result, ran: CheckResult) -> str | None:
    verdicts = result.facts.verdicts
    check = verdicts.checks.get(ran.command)
    counted = None if check is None else check.counted
    if result.content is not None:  # the checkout has the tests of the start
        counted = verdicts.references.get(ran.command)
    if counted is None:
        return None
    try:
        known = msgspec.json.decode(result.journal.blobs.load(counted), type=Counted)
    except (KeyError, msgspec.DecodeError):
        return f"the record of what `{ran.command}` counted in the workspace is damaged"
    suspicion = why_suspect(known, ran.counted)
    return None if suspicion is None else f"other tests than in the workspace: {suspicion.why}{_few(suspicion.missing)}"


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f" ({', '.join(names[:_NAMED])}{more})" if names else ""


def _still_unchanged(result: Result) -> None:
    """Raise CheckoutFailed if a background process wrote to a dependency folder during the check."""
    if result.workspace.root.is_dir():
        unchanged(result.journal, result.facts, result.workspace.root)


def _why(failed: CheckResult) -> str:
    if failed.error is not None:
        return f"it could not be started: {failed.error}"
    if failed.timed_out:
        return f"it timed out after {failed.seconds:.0f} s"
    count = f", {failed.failing} failing" if failed.failing is not None else ""
    return f"exit code {failed.exit_code}{count}"
