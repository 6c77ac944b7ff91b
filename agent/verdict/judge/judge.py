"""Judge a green result: it counts only if it is also green without the changes that nobody decided on (decision 0040).

`judge` is the way from a green check to the grade of the run, from top to bottom.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ...budget.stall.signature import without_traces_of_run
from ...journal.encoding import recorded_text
from ...protocol import Judged, JudgeStarted, TestCounts
from ...protocol.text.counts import first_names
from ...state.facts.decided_files import encode_decided
from ..checks.check_environment import CheckEnvironment, prepared_environment
from ..checks.run_check import CheckResult
from ..counting.compare_counts import why_suspect
from ..plants.planting import planted, score_of
from ..predicates.python_predicate import judge_python
from ..predicates.required import RunActions, required_run
from ..predicates.schema_predicate import judge_schema
from ..scope.next_options import NextOptions
from ..scope.source_names import is_source, is_test_name
from .approved_modules import approved_modules
from .checked import checked_in_view
from .decided import UNKNOWN_BEFORE, is_below
from .decided_now import DecidedNow, decided_now
from .first_counts import CountsDamaged, first_counts
from .holdout import with_second_check
from .judge_setup import command_that_made, files_changed_by, fresh_of, prepare_again
from .judge_view import JudgeView, ViewContent, ViewFailed, open_view

if TYPE_CHECKING:
    from pathlib import Path

    from ...protocol import JudgeWhy
    from ...sandbox.command_access import Access
    from ...state.facts.verdicts import Verdicts
    from ..checks.predicate_verdict import PredicateVerdict
    from .decided import Decided, UndecidedPath
    from .judge_case import Case
    from .past_files import Contents

_REPEATED_SECONDS = 60.0
"""A red judge that took less is repeated once: a test may depend on chance."""
MOST_LISTED = 50
"""Undecided paths that the event lists."""
_NAMED = 3
_MOST_OF_SETUP = 5
"""Files that a setup changed and that a proposal names."""
_MOST_READ_ONLY = 64


async def judge(case: Case) -> Judged:
    """Return the judgement of a result whose predicates hold in the workspace. Records only that it begins."""
    began = time.monotonic()
    try:
        if case.views is None and (case.had_views or case.facts.spec.predicates.holdout is not None):
            raise ViewFailed(case.no_views)
        found = await _rounds(case)
        if found.passed and case.facts.spec.predicates.holdout is not None:
            found = await _held_out(case, found)
    except ViewFailed as failed:
        found = not_judged(failed)
    return msgspec.structs.replace(found, seconds=time.monotonic() - began)


def not_judged(failed: ViewFailed) -> Judged:
    """Return the judgement of a result for which no view can be made."""
    return Judged(grade="passed", passed=False, why="unknown", detail=f"the result could not be judged: {failed}")


def still_judged(case: Case, judged: Judged | None) -> Judged | None:
    """Return a green judgement again if exactly the same changes are accepted now, or None if it is void. Blocks.

    Raises ViewFailed.
    """
    if judged is None or not judged.passed:
        return None
    decided = decided_of(case).decided
    if decided.unknown or _decided_files(case, decided) != judged.decided_files:
        return None
    return _with_changes(msgspec.structs.replace(judged, seconds=0.0), case, decided)


async def _rounds(case: Case) -> Judged:
    """Judge the result, and begin again once if a file that the run changed was changed meanwhile."""
    now = await asyncio.to_thread(decided_of, case)
    if case.views is None:
        return _Judge(case, now.decided, now.contents).judged_in_place()
    case.events.record(JudgeStarted(checks=_names(case), undecided_count=len(now.decided.undecided)))
    found = await _Judge(case, now.decided, now.contents).judged()
    again = await asyncio.to_thread(decided_of, case)
    if again.decided.digest == now.decided.digest:
        return found
    found = await _Judge(case, again.decided, again.contents).judged()
    last = await asyncio.to_thread(decided_of, case)
    if last.decided.digest == again.decided.digest:
        return found
    detail = "files that this run changed were changed while the judge ran, twice"
    return msgspec.structs.replace(found, grade="passed", passed=False, why="moved", detail=detail)


async def _held_out(case: Case, judged: Judged) -> Judged:
    """Run the second check in a view of what was judged."""
    now = await asyncio.to_thread(decided_of, case)
    if now.decided.digest != judged.decided:
        detail = "files that this run changed were changed before the second check"
        return msgspec.structs.replace(judged, grade="passed", passed=False, why="moved", detail=detail)
    rows = () if case.unit is None else case.unit.changes.rows
    content = await asyncio.to_thread(ViewContent.without_undecided, now.decided, now.contents, rows)
    content.fresh = fresh_of(case)
    return await with_second_check(case, judged, content)


def decided_of(case: Case) -> DecidedNow:
    """Return what is decided now. Raises ViewFailed. Blocks."""
    unit, workspace = case.unit, case.workspace.root
    start = None if case.views is None else case.views.start
    try:
        if unit is None:
            return decided_now(case.facts, case.journal, case.base, workspace, case.scope, start=start)
        changes, place = unit.changes, unit.root
        return decided_now(
            unit.run, case.journal, case.base, workspace, case.scope, unit=changes, place=place, start=start
        )
    except (OSError, ValueError) as error:
        raise ViewFailed(f"what the run changed cannot be read: {error}") from error


def _names(case: Case) -> list[str]:
    goals = _Goals.of(case)
    if case.items is not None:
        more = [f"{len(case.items) - _NAMED} more"] if len(case.items) > _NAMED else []
        return [*case.items[:_NAMED], *more]
    schema = [] if goals.schema is None else [f"schema {goals.schema}"]
    score = [] if case.facts.spec.improve is None else [case.facts.spec.improve.score]
    return [*goals.checks, *(f"until-py {path}" for path in goals.python), *schema, *score]


class _Goals(NamedTuple):
    """The predicates that run in the view."""

    checks: Sequence[str]
    python: Sequence[str]
    schema: str | None

    @classmethod
    def of(cls, case: Case) -> _Goals:
        """Return all of them; with `--any`, those that hold in the workspace."""
        if case.items is not None:
            return cls(case.items, (), None)
        wanted, verdicts = case.facts.spec.predicates, case.facts.verdicts
        if not wanted.any:
            return cls(wanted.until, wanted.until_py, wanted.schema)
        held = {name for name, judged in verdicts.predicates.items() if judged.passed}
        return cls(
            [one for one in wanted.until if one in verdicts.checks and verdicts.checks[one].passed],
            [one for one in wanted.until_py if f"until-py {one}" in held],
            wanted.schema if f"schema {wanted.schema}" in held else None,
        )


@dataclass(slots=True)
class _Trial:
    """What the checks did in one view."""

    checks: list[CheckResult] = field(default_factory=list[CheckResult])
    verdicts: list[PredicateVerdict] = field(default_factory=list["PredicateVerdict"])
    required: list[CheckResult] = field(default_factory=list[CheckResult])
    """Commands that the model had to run."""
    overwritten: Mapping[str, str] = field(default_factory=dict[str, str])
    """The files of the view that the checks wrote, if they were green."""
    reached: str = ""
    """The limit for which a check was ended."""

    def is_green(self, *, any_: bool) -> bool:
        """Return whether the result holds here. `any_`: one predicate is enough."""
        passed = [one.passed for one in (*self.checks, *self.verdicts, *self.required)]
        return not self.reached and (not passed or (any(passed) if any_ else all(passed)))

    @property
    def output(self) -> str:
        """What the first red check printed, or the red predicate said."""
        if self.reached:
            return f"it was ended, because {self.reached}"
        for check in (*self.checks, *self.required):
            if not check.passed:
                return check.error or check.output
        return next((f"{one.name}: {one.detail}" for one in self.verdicts if not one.passed), "")

    @property
    def timed_out(self) -> bool:
        return any(check.timed_out for check in (*self.checks, *self.required))


class _Judge:
    """One round: from what is decided now to the judgement."""

    def __init__(self, case: Case, decided: Decided, contents: Contents) -> None:
        self._case, self._decided, self._contents = case, decided, contents
        self._any = case.facts.spec.predicates.any
        self._goals = _Goals.of(case)
        self._rows = () if case.unit is None else case.unit.changes.rows
        self._required = _required_lines(case, decided)
        self._fewer = [] if self._any else case.facts.verdicts.suspects
        """Results that are judged although tests are missing."""
        self._opened = list[frozenset[str] | None]()
        """What the checks opened in each view."""

    async def judged(self) -> Judged:
        """Run the checks in the view, and say what the result rests on."""
        early = self._without_view()
        if early is not None:
            return early
        decided = self._decided
        content = await asyncio.to_thread(ViewContent.without_undecided, decided, self._contents, self._rows)
        if why := await prepare_again(self._case, decided, content):
            return self._red("conditions", "the setup fails with the changes of this run", output=why)
        content.fresh = fresh_of(self._case)
        trial, seconds = await self._timed(content)
        if not trial.is_green(any_=self._any) and seconds < _REPEATED_SECONDS:
            trial, _ = await self._timed(content)
        if not trial.is_green(any_=self._any):
            return self._few_tests() if self._fewer else await self._explained(trial)
        suspect = [*self._fewer_tests(trial), *await self._wrote(trial, content)]
        words = list[str]()
        if not suspect and decided.accepted:
            checks = [one for one in trial.checks if one.passed and not self._is_accepted_uncounted(one.command)]
            counts_without = {one.command: one.counted for one in checks}
            for command in [*counts_without, *score_of(self._case.facts.spec)]:
                found = await planted(self._case, command, content, counts_without.get(command))
                suspect += [found.why] if found.why else []
                words += [found.words] if found.words else []
        if suspect:
            return self._red("suspect", f"suspect: {suspect[0]}", suspect=suspect)
        counted = [check for check in trial.checks if check.command in {one.command for one in self._fewer}]
        counts = {one.command: TestCounts(one.counted.ran, one.failing or 0) for one in counted if one.counted}
        return msgspec.structs.replace(self._green(), plant="; ".join(words), counts=counts)

    def judged_in_place(self) -> Judged:
        """Judge a result for which no view can be made: it passes if nothing is undecided but output."""
        if early := self._without_view():
            return early
        why = f"and no view can show whether the checks need it: {self._case.no_views}"
        if left := [one for one in self._decided.undecided if one.what != "output"]:
            names, files = [one.path for one in left], [one.path for one in left if one.what != "git"]
            return self._red("undecided", f"nobody decided on {first_names(names, _NAMED)}, {why}", files)
        if self._required:
            return self._red("unknown", f"`{self._required[0]}` did not run on its own, {why}")
        return self._few_tests() if self._fewer else self._green()

    def _without_view(self) -> Judged | None:
        """Return the judgement if it needs no view, or none is possible, or None if a view is needed."""
        decided = self._decided
        if decided.unknown:
            names = {line.partition(": ")[0] for line in decided.unknown}
            asked = [one.path for one in decided.undecided if one.path in names]
            step = "restore them and start the run again" if asked else "start the run again"
            step = f"resume the run in a session and accept them, or {step}" if asked else step
            what = [line.removesuffix(UNKNOWN_BEFORE) for line in decided.unknown]
            detail = f"it is not known what was there before this run: {first_names(what, _NAMED)}; {step}"
            return self._red("unknown", detail, asked)
        if self._fewer and not decided.undecided:
            return self._few_tests()
        if _is_untouched(self._case, decided):
            return self._green()
        if self._case.views is not None and not self._fits():
            return self._red("budget", "the time that is left is not enough to judge the result")
        return None

    def _few_tests(self) -> Judged:
        """Say that tests are missing, and that undecided changes alone are not the reason."""
        lines = [f"`{check.command}`: {check.suspect}" for check in self._fewer]
        return self._red("suspect", f"suspect: {lines[0]}", suspect=lines)

    def _is_accepted_uncounted(self, command: str) -> bool:
        """Return whether a person accepted that this result counts no test: then a planted one cannot fail either."""
        verdicts = self._case.facts.verdicts
        return command in verdicts.accepted and not verdicts.checks[command].ran

    def _fits(self) -> bool:
        """Return whether the time that is left is enough for the checks, which take as long as in the workspace."""
        left, facts = self._case.left, self._case.facts
        return left is None or left > seconds_needed(facts.verdicts, self._goals.checks, score_of(facts.spec))

    async def _timed(self, content: ViewContent) -> tuple[_Trial, float]:
        began = time.monotonic()
        return await self._tried(content), time.monotonic() - began

    async def _tried(self, content: ViewContent, read_only: Sequence[Path] = ()) -> _Trial:
        """Run all predicates in a new view."""
        case, trial = self._case, _Trial()
        async with open_view(case.layers, case.sandbox, content) as view:
            trial.checks += await self._all_checked(view, read_only)
            for script in self._goals.python:
                with prepared_environment(view.sandbox, case.env) as environment:
                    trial.verdicts.append(await self._python(script, view, environment))
            if self._goals.schema is not None:
                with prepared_environment(view.sandbox, case.env) as environment:
                    trial.verdicts.append(await self._schema(self._goals.schema, view, environment))
            self._opened.append(await asyncio.to_thread(view.opened))
            trial.reached = view.reached
            if trial.is_green(any_=self._any):
                trial.overwritten = await asyncio.to_thread(view.overwritten, case.env)
        if self._required and trial.is_green(any_=self._any):
            await self._run_required(trial, content)
        return trial

    async def _run_required(self, trial: _Trial, content: ViewContent) -> None:
        """Run the commands that the model had to run in a view of their own, because they may write files there."""
        case = self._case
        async with open_view(case.layers, case.sandbox, content) as view:
            for command in self._required:
                trial.required.append(await checked_in_view(case, view, command))
            trial.reached = view.reached

    async def _all_checked(self, view: JudgeView, read_only: Sequence[Path]) -> list[CheckResult]:
        """Run all checks, those of items several at the same time, and return the results in their order."""
        free = asyncio.Semaphore(self._case.parallel)

        async def one(command: str) -> CheckResult:
            async with free:
                return await checked_in_view(self._case, view, command, read_only=read_only)

        return await asyncio.gather(*map(one, self._goals.checks))

    async def _python(self, script: str, view: JudgeView, environment: CheckEnvironment) -> PredicateVerdict:
        case = self._case
        return await judge_python(
            script,
            view.workspace,
            case.state,
            env=environment.env,
            timeout=self._case.timeout,
            sandbox=view.sandbox,
            approved=await asyncio.to_thread(approved_modules, script, case.scope, view.root),
            access=_in_view(environment, view),
        )

    async def _schema(self, path: str, view: JudgeView, environment: CheckEnvironment) -> PredicateVerdict:
        case = self._case
        verdict = await judge_schema(
            str(view.root / path),
            case.facts.answer,
            view.workspace,
            env=environment.env,
            timeout=self._case.timeout,
            sandbox=view.sandbox,
            access=_in_view(environment, view),
        )
        return msgspec.structs.replace(verdict, name=f"schema {path}")

    async def _explained(self, trial: _Trial) -> Judged:
        """Find out why the result does not hold in the view: because of undecided changes, or of other conditions."""
        decided, own = self._decided, self._case.facts.spec.predicates.timeout
        if trial.timed_out and self._case.timeout < own:
            return self._red("budget", "the time that is left is not enough to judge the result", output=trial.output)
        left_out = [one for one in decided.undecided if one.what != "output"]
        if left_out:
            there = await self._tried(
                await asyncio.to_thread(ViewContent.in_place, decided, self._contents, self._rows)
            )
            if there.is_green(any_=self._any):
                return self._rests_on_undecided(left_out, trial.output)
            trial = there
        return self._red("conditions", f"it fails where {self._conditions()}", output=trial.output)

    def _rests_on_undecided(self, left_out: Sequence[UndecidedPath], output: str) -> Judged:
        """Say that the checks need undecided changes. A person is first asked about files that the checks opened."""
        files = [one.path for one in left_out if one.what != "git"]
        opened = None if self._case.facts.verdicts.proposed else self._files_opened
        first = [] if opened is None else [path for path in files if path in opened]
        names = sorted((one.path for one in left_out), key=lambda path: path not in first)
        why = f"it passes only with changes that nobody decided on: {first_names(names, _NAMED)}"
        asked = first or files
        return self._red("undecided", why, asked, output=output, asks_all=len(asked) == len(files))

    def _conditions(self) -> str:
        """Say what the view does not have besides undecided files."""
        case, missing = self._case, list[str]()
        if case.background:
            missing.append(f"no command of the run runs in the background (let the check start `{case.background[0]}`)")
        if outputs := self._decided.outputs_gone:
            missing.append(f"nothing is there that the run built ({first_names(outputs, _NAMED)})")
        if case.facts.verdicts.setup is not None:
            missing.append("ignored folders are as the setup made them")
        if case.unit is not None and case.unit.missing:
            missing.append(
                f"nothing is there that was built or changed in git ({first_names(case.unit.missing, _NAMED)})"
            )
        if case.sandbox.left_in_temp():
            missing.append("/tmp is empty, which has files of the run's commands now")
        return " and ".join([*missing, "caches are empty"])

    def _fewer_tests(self, trial: _Trial) -> list[str]:
        """Return why green checks are suspect, compared with their first counts: tests that the run added are gone."""
        passed = [check for check in trial.checks if check.passed]
        found = [why for check in passed if (why := self._why_fewer(check))]
        return [] if self._any and len(found) < len(passed) else found

    def _why_fewer(self, check: CheckResult) -> str:
        try:
            found = why_suspect(first_counts(self._case, check.command), check.counted, check.output)
        except CountsDamaged as error:
            return str(error)
        return "" if found is None else f"`{check.command}`: {found.why}"

    async def _wrote(self, trial: _Trial, content: ViewContent) -> list[str]:
        """Return why the checks are suspect, because they wrote files of the start that the run may not change."""
        case = self._case
        first, built = await asyncio.to_thread(self._first_wrote), self._output_of_start()
        found = [
            path
            for path, digest in sorted(trial.overwritten.items())
            if not case.scope.in_scope(path, new=False)
            and not any(is_below(path, folder) for folder in built)
            and (path not in first or (is_source(path) and first[path] != digest))
        ]
        if not found:
            return []
        if case.sandbox.kind == "bubblewrap" and len(found) <= _MOST_READ_ONLY:
            kept = await self._tried(content, [case.workspace.root / path for path in found])
            if kept.is_green(any_=self._any):
                return []
        return [f"the check itself changes what it depends on: {first_names(found, _NAMED)}"]

    def _output_of_start(self) -> frozenset[str]:
        """Return the folders of output that a view has as they were at the start: a check builds in them."""
        decided = self._decided
        if self._case.layers.start is None:
            return decided.copied
        return frozenset(
            folder for folder in decided.outputs if not any(is_below(path, folder) for path in decided.changed)
        )

    def _first_wrote(self) -> dict[str, str]:
        found = dict[str, str]()
        for command in self._goals.checks:
            blob = self._case.facts.verdicts.first_wrote.get(command)
            if blob is not None:
                found |= msgspec.json.decode(self._case.journal.blobs.load(blob), type=dict[str, str])
        return found

    def _green(self) -> Judged:
        case, decided = self._case, self._decided
        widened = [path for path in decided.accepted if case.scope.is_widened(path, new=True)]
        lacks = [f"no view could be made: {case.no_views}"] if case.views is None else list[str]()
        if case.scope.everything:
            lacks.append("the run may change everything (--guard none)")
        elif widened:
            lacks.append(f"--scope lets the run change what decides the check: {first_names(widened, _NAMED)}")
        tests = [] if case.items is None else sorted(path for path in decided.accepted if is_test_name(path))
        if tests:
            lacks.append(f"items that are tests can lose what they test: {first_names(tests, _NAMED)}")
        prepared = case.facts.verdicts.setup
        if prepared is not None and prepared.changed:
            lacks.append(f"the setup ran again, with the changed {first_names([*prepared.changed], _NAMED)}")
        if any(check in case.facts.verdicts.accepted for check in self._goals.checks):
            lacks.append("a person accepted a suspect check")
        if case.sandbox.kind is None:
            lacks.append("there is no sandbox: commands could write to what the check depends on outside of it")
        if decided.unseen:
            lacks.append(f"accepted without a look at what changed: {first_names(decided.unseen, _NAMED)}")
        is_measured = case.facts.spec.improve is not None  # its score is measured in a view
        goals, is_run = self._goals, bool(self._required or is_measured)
        if not (goals.checks or goals.python or goals.schema is not None or is_run):
            lacks.append("nothing was run")
        return self._judgement(
            Judged(grade="passed" if lacks else "judged", passed=True, detail="; ".join(lacks)),
        )

    def _red(
        self,
        why: JudgeWhy,
        detail: str,
        rests_on: Sequence[str] = (),
        *,
        suspect: Sequence[str] = (),
        output: str = "",
        asks_all: bool = True,
    ) -> Judged:
        scope = self._case.scope
        ignored = [path for path in rests_on if scope.is_ignored(path, is_folder=False)]
        ignored += [one.path for one in self._decided.undecided if one.what == "output"]
        others = [path for path in rests_on if path not in ignored]
        options = self._options(ignored, others) if why in ("undecided", "conditions") else NextOptions()
        return self._judgement(
            Judged(
                grade="passed",
                passed=False,
                why=why,
                detail=recorded_text(detail),
                help=options.help,
                look_first=options.look_first,
                output=output,
                output_digest=hashlib.sha256(without_traces_of_run(output).encode()).hexdigest() if output else "",
                rests_on=[*map(recorded_text, rests_on)],
                asks_all=asks_all,
                suspect=[*suspect],
            )
        )

    def _options(self, ignored: Sequence[str], others: Sequence[str]) -> NextOptions:
        """Return what lets the next run pass if its result rests on these ignored paths and these other files."""
        options, paths = NextOptions(), [*others[:_NAMED]]
        if command := command_that_made(self._case, ignored) if ignored else "":
            options.add_setup(command)
            made = files_changed_by(self._case, command)
            files = [one.path for one in self._decided.undecided if one.what not in ("output", "git")]
            own = [path for path in files if path in made and path not in ignored][:_MOST_OF_SETUP]
            left = [path for path in others if path not in own]
            paths = [*own, *left[: max(0, _NAMED - 1 - len(own))]]
        for path in paths:
            past = self._decided.view.get(path)
            is_new = past is not None and past.side is None
            is_gone = not os.path.lexists(self._case.root / path)
            change = "deleted" if is_gone else "new" if is_new else "changed"
            is_more = self._case.scope.in_scope(path, new=is_new)  # a link, or a change of the tests that it has inside
            options.add_scope(self._case.scope, path, new=is_new, change=change, decides=is_more)
        return options

    @property
    def _files_opened(self) -> frozenset[str] | None:
        """The files that the checks opened in the views so far, or None if it is not known."""
        known = [one for one in self._opened if one is not None]
        return frozenset[str]().union(*known) if known and len(known) == len(self._opened) else None

    def _judgement(self, judged: Judged) -> Judged:
        opened, changed = self._files_opened, self._decided.changed
        judged = msgspec.structs.replace(
            judged,
            opened=None if opened is None else len(opened),
            opened_changed=[recorded_text(path) for path in changed if opened and path in opened],
        )
        return _with_changes(judged, self._case, self._decided)


def seconds_needed(verdicts: Verdicts, checks: Sequence[str], scores: Sequence[str]) -> float:
    """Return how long a judgement takes, as far as the durations of its checks are known. Planted tests run once more.

    `scores`: commands that measured the score, of which only the planted tests run.
    """
    plants = {name: one for name, one in verdicts.plants.items() if one.plan is not None}
    known = verdicts.checks
    needed = sum(known[one].seconds * (2 if one in plants else 1) for one in checks if one in known)
    return needed + sum(plants[one].seconds for one in scores if one in plants)


def _with_changes(judged: Judged, case: Case, decided: Decided) -> Judged:
    """Add to a judgement what is undecided and decided."""
    outside = [path for path in sorted(decided.accepted) if case.scope.is_outside(path)]
    contents = "\0".join(f"{one.path}\0{one.digest}" for one in decided.undecided)
    return msgspec.structs.replace(
        judged,
        undecided=[recorded_text(one.path) for one in decided.undecided[:MOST_LISTED]],
        undecided_count=len(decided.undecided),
        undecided_digest=hashlib.sha256(contents.encode("utf-8", "surrogateescape")).hexdigest() if contents else "",
        decided=decided.digest,
        outside=[recorded_text(path) for path in outside[:MOST_LISTED]],
        decided_files=_decided_files(case, decided),
    )


def _decided_files(case: Case, decided: Decided) -> str | None:
    """Store the accepted changes, and return their blob, or None if there are none."""
    return case.journal.blobs.keep(encode_decided(decided.accepted)) if decided.accepted else None


def _is_untouched(case: Case, decided: Decided) -> bool:
    """Return whether the green check ran on the files of the start, because no run has changed anything."""
    is_written = case.unit is not None and case.unit.changes.rows
    return not (is_written or case.facts.step or decided.view or decided.accepted or decided.git)


def _required_lines(case: Case, decided: Decided) -> list[str]:
    """Return the commands that the model had to run, if something undecided could have let them pass.

    What decides a command of git is in the repository, whose changes are judged by themselves.
    """
    facts, scope = case.facts, case.scope
    if not facts.spec.predicates.require:
        return []
    held = {name for name, one in facts.verdicts.predicates.items() if one.passed}
    ran = RunActions(actions=facts.actions, applied=facts.applied, root=case.workspace.seen)
    found = [required_run(one, ran) for one in facts.spec.predicates.require if f"require {one}" in held]
    is_open = bool(decided.undecided or case.sandbox.left_in_temp()) or any(
        not scope.in_scope(path, new=False)
        for change in (*facts.changes.standing, *facts.changes.in_stage)
        for path in change.files
    )
    runs = [one for one in found if one is not None and (is_open or not one.is_alone)]
    return [one.line for one in runs if not one.line.startswith("git ")]


def _in_view(environment: CheckEnvironment, view: JudgeView) -> Access:
    return msgspec.structs.replace(environment, layer=view.access).access
