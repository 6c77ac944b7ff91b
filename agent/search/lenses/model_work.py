"""Work that models do: lenses search, verifiers refute, others look for evidence, the critic names what is missing.

Each work ends with one call (`report`, `judge`, `propose`). Its content is recorded in the commit of the call's result,
so a killed run has recorded all of it or repeats the work.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

import msgspec

from ...protocol import (
    ITEM_KINDS,
    BudgetChanged,
    CriticSpoke,
    EvidenceAdded,
    FinderSpec,
    LensAdded,
    Model,
    ModelSpec,
    RundryError,
    UserError,
    Vote,
    VoteCast,
    Work,
    WorkFinished,
    WorkResult,
    WorkStarted,
)
from ...protocol.tools.traits import reading_tools
from ...state.search.finding_facts import UNREAD_EVIDENCE
from ...step.perform import perform
from ...tools.tool_arguments import ReportedItem
from ..items.item_state import Candidate, Item
from ..review.reviewed import further_parts
from ..workers.worker import ReportedFinding
from . import prompts
from .cited_places import cited_files, served_files, why_no_place
from .lens_prompt import LensPrompt, prompt_of_lens

if TYPE_CHECKING:
    from ...state.recorder import Events
    from ...state.search.finder_facts import FinderFacts
    from ...state.search.finding_facts import Finding, LensFacts
    from ...step.resources.run_context import RunContext
    from ..items.item_intake import ItemIntake
    from ..review.reviewed import Reviewed

_MOST_MESSAGES = 5
_MOST_REFUSALS = 2
"""Refusals of a report because of places, after which it is accepted without these findings."""
_NO_PLACE = "place"
_UNREAD = "you have read nothing since you were asked: read a file or search for a text first, then report"
_UNREAD_EVIDENCE = "you have not read the evidence: read the cited lines first, then judge"
_FAILED_AS = {
    _UNREAD: "its report was refused, because it read nothing with its tools",
    _UNREAD_EVIDENCE: UNREAD_EVIDENCE,
}
"""The reason of a refusal to the error of a work that ends with it."""
_NO_REPORT = "it used all of its steps without calling `{tool}`"


class ModelWork:
    """Give work to models and record what they answer."""

    def __init__(
        self,
        ctx: RunContext,
        spec: FinderSpec,
        intake: ItemIntake,
        leads: Sequence[Item],
        review: Reviewed | None = None,
    ) -> None:
        self._ctx, self._spec, self._intake, self._leads, self._review = ctx, spec, intake, leads, review
        self._open: dict[str, tuple[Work, Item | None]] = {}
        """Work orders that have not been ended by their last call yet, by name."""
        self._refusals: dict[str, list[str]] = {}
        """Why the last calls of each open work order did not end it."""
        self._models: dict[str, Model] = {}
        self.retryable = False
        """Whether the newest permanent failure may succeed later."""

    @property
    def _facts(self) -> FinderFacts:
        assert self._ctx.facts.finder is not None  # a run with lenses is a search
        return self._ctx.facts.finder

    async def perform(self, work: Work, item: Item | None = None) -> WorkResult:
        """Do the work to its end. A failure of a model is a failed work order, not an empty one."""
        name, events = work.work or work.about, self._ctx.events.bound(None, work.work)
        lens = self._lens_prompt(work) if work.kind == "lens" else None
        with self._ctx.events.together():
            events.record(WorkStarted(kind=work.kind, about=work.about, attempt=self._attempt(work, item)))
            if lens is not None:
                events.record(lens.record)
        self._open[name] = (work, item)
        self._refusals[name] = []
        self._ctx.stalls.forget(work.work)  # a lens may report the same in every pass
        try:
            result = await self._ask(work, lens.text if lens is not None else self._prompt(work))
            if name in self._open:
                self._record_failure(work, item, result, events)
        finally:
            self._open.pop(name, None)
            self._refusals.pop(name, None)
            self._ctx.stalls.forget(work.work)
        return WorkResult(
            work=work.work,
            steps=result.steps,
            exhausted=result.exhausted,
            handoff=result.handoff,
            interrupted=result.interrupted,
        )

    def refuse_ending(self, work: str | None, tool: str, arguments: dict[str, Any]) -> str | None:
        """Return why the call does not end the work order: nothing was read, or a cited place does not exist.

        After some refusals for places, the call is accepted without those findings.
        """
        found, refusals = self._open.get(work or ""), self._refusals.get(work or "")
        if found is None or refusals is None:
            return None
        order, served = found[0], self._facts.was_served(work or "")
        why = self._why_unread(order, found[1], arguments, served)
        if why is not None:
            refusals.append(why)
            return why
        if tool != "report" or refusals.count(_NO_PLACE) == _MOST_REFUSALS:
            return None
        faults = self._without_place(arguments, served, found[1])
        if faults:
            refusals.append(_NO_PLACE)
        return "; ".join(f"finding {number}: {fault}" for number, fault in faults.items()) or None

    def _why_unread(self, work: Work, item: Item | None, arguments: dict[str, Any], served: set[str]) -> str | None:
        """Return why the work did not look: what counts is what tools served before the call, not what it says."""
        match work.kind:
            case "lens":
                return None if served or self._are_in_shown_diff(work, arguments) else _UNREAD
            case "item":
                return None if served or item is None or item.kind == "value" else _UNREAD
            case "evidence":
                return None if served else _UNREAD
            case "sceptic":
                if not served:
                    return _UNREAD_EVIDENCE
                finding = self._facts.findings[work.about]
                cited = cited_files(finding.evidence, self._ctx.workspace)
                is_seen = not cited or cited & served_files(served, self._ctx.workspace)
                return _UNREAD_EVIDENCE if arguments.get("verdict") == "stands" and not is_seen else None
            case _:
                return None

    def _are_in_shown_diff(self, work: Work, arguments: dict[str, Any]) -> bool:
        """Return whether the lens reports findings, all in the part of the diff that its prompt shows."""
        given, review = arguments.get("findings", ()), self._review
        if not given or review is None:
            return False
        part = self._facts.lenses[work.about].part
        return all(review.shows(part, msgspec.convert(one, ReportedFinding).evidence) for one in given)

    def _without_place(self, arguments: dict[str, Any], served: set[str], item: Item | None) -> dict[int, str]:
        """Return the number of each reported finding whose place does not hold, from 1, with the reason.

        What is found about a `value` needs no place.
        """
        if item is not None and item.kind == "value":
            return {}
        reports = [msgspec.convert(f, ReportedFinding) for f in arguments.get("findings", ())]
        checked = ((n, why_no_place(f.evidence, self._ctx.workspace, served)) for n, f in enumerate(reports, 1))
        return {number: why for number, why in checked if why is not None}

    def record_ending(self, work: str | None, tool: str, arguments: dict[str, Any]) -> None:
        """Record the content of the call that ends a work order, in the open transaction."""
        found = self._open.pop(work or "", None)
        if found is None:
            return
        order, item = found
        events = self._ctx.events.bound(None, work)
        match order.kind:
            case "lens" | "item":
                self._record_report(order, item, arguments, events, self._facts.was_served(work or ""))
            case "sceptic":
                self._record_vote(order, arguments, events)
            case "evidence":
                self._record_evidence(order, arguments, events, self._facts.was_served(work or ""))
            case _:
                self._record_proposal(order, arguments, events)

    def _lens_prompt(self, work: Work) -> LensPrompt:
        messages = [m.text for m in self._ctx.facts.main.messages if m.role == "user"][1:][-_MOST_MESSAGES:]
        lens = self._facts.lenses[work.about]
        diff = "" if self._review is None else self._review.part(lens.part)
        return prompt_of_lens(self._facts, lens, self._leads, messages, diff)

    async def _ask(self, work: Work, prompt: str) -> WorkResult:
        lens = self._facts.lenses.get(work.about) if work.kind == "lens" else None
        if lens is not None and lens.model is not None:
            try:
                self._ctx.models.use_in_task(await self._model(lens.model))
            except RundryError as error:
                return WorkResult(work=work.work, fault=f"its model {lens.model}: {error}")
        ending = work.ends_with or "report"
        tools = [*reading_tools(self._spec.hosts), ending]
        order = msgspec.structs.replace(
            work,
            system=self._system(work),
            prompt=prompt,
            ends_with=ending,
            tools=tools,
            step_cap=self._step_cap(work),
        )
        return await perform(self._ctx, order, tools, endings=self)

    async def _model(self, name: str) -> Model:
        if name not in self._models:
            model = await self._ctx.models.open(_lens_model_spec(self._ctx.facts.spec.model, name))
            self._keep_limit(model)
            self._models[name] = model
        return self._models[name]

    def _keep_limit(self, model: Model) -> None:
        """Check that a limit in USD can be kept with this model. Raises UserError if the user set one and no price is
        known.
        """
        facts = self._ctx.facts
        limit = facts.budget.usd
        if model.price is not None or limit is None:
            return
        if facts.spec.usd_asked:
            raise UserError(f"no price is known, so the limit of {limit} USD cannot be kept")
        self._ctx.events.record(BudgetChanged(budget=msgspec.structs.replace(facts.budget, usd=None), by="program"))

    def _step_cap(self, work: Work) -> int:
        """Return how many steps the work may take. A lead may not take more than the leads' budget has left."""
        steps = self._ctx.facts.spec.item_steps
        return self._spec.leads.allowance(steps) if work.kind == "item" and self._facts.lenses else steps

    def _system(self, work: Work) -> str:
        task, root = self._ctx.facts.spec.task, self._ctx.facts.spec.workspace
        match work.kind:
            case "lens":
                return prompts.lens_system(task, root, self._facts.lenses[work.about], self._spec.paths)
            case "sceptic":
                return prompts.verifier_system(task, root)
            case "critic":
                return prompts.critic_system(task, root)
            case _:
                return prompts.item_system(task, root)

    def _prompt(self, work: Work) -> str:
        facts = self._facts
        match work.kind:
            case "sceptic":
                finding = facts.findings[work.about]
                about = "" if self._review is None else self._review.around(finding.evidence)
                return "\n\n".join(part for part in (prompts.verifier_prompt(finding, facts), about) if part)
            case "evidence":
                return prompts.evidence_prompt(facts.findings[work.about])
            case "critic":
                about = "" if self._review is None else self._review.names()
                return "\n\n".join(part for part in (about, prompts.critic_prompt(facts)) if part)
            case _:
                return f"The item: {work.about}"

    def _attempt(self, work: Work, item: Item | None) -> int:
        if item is not None:
            return item.attempts + 1
        if work.kind == "lens":
            return self._facts.lenses[work.about].failures + 1
        finding: Finding | None = self._facts.findings.get(work.about)
        return finding.failures.get(work.work or "", 0) + 1 if finding else self._facts.critic_failures + 1

    def _record_failure(self, work: Work, item: Item | None, result: WorkResult, events: Events) -> None:
        """Record that the work ended without the call that should end it."""
        is_cut = result.interrupted or result.exhausted is not None or result.handoff is not None
        refused = next(reversed(self._refusals.get(work.work or work.about, [])), "")
        unended = _NO_REPORT.format(tool=work.ends_with or "report")
        is_faulty = result.fault is not None and not result.stalled
        words = result.fault if is_faulty else _FAILED_AS.get(refused) or result.fault or unended
        error = "" if is_cut else words or unended
        hopeless = result.fault is not None and not result.retryable and not result.stalled
        self.retryable = result.retryable
        with self._ctx.events.together():
            set_aside = False
            if item is not None:
                if is_cut:
                    self._intake.frontier.roll_back([item.key])
                else:
                    set_aside = hopeless or item.attempts >= self._ctx.facts.search.retries
                    self._intake.record_failure(item, error, events, final=set_aside)
            elif not is_cut:
                set_aside = hopeless or self._attempt(work, None) > self._ctx.facts.search.retries
            events.record(
                WorkFinished(
                    kind=work.kind, about=work.about, ok=False, error=error, interrupted=is_cut, set_aside=set_aside
                )
            )

    def _record_report(
        self, work: Work, item: Item | None, arguments: dict[str, Any], events: Events, served: set[str]
    ) -> None:
        found = [msgspec.convert(i, ReportedItem) for i in arguments.get("items", ())]
        faults = self._without_place(arguments, served, item)
        given = enumerate(arguments.get("findings", ()), 1)
        reports = [msgspec.convert(one, ReportedFinding) for number, one in given if number not in faults]
        valid = [Candidate(kind, item.value) for item in found for kind in ITEM_KINDS if kind == item.kind]
        queued = self._intake.add_items(valid, work.about, events)
        reported = self._intake.add_findings(reports, work.about, events, by_model=True)
        if item is not None:
            self._intake.frontier.finish(item.key)
        events.record(
            WorkFinished(
                kind=work.kind,
                about=work.about,
                ok=True,
                new=queued.new + reported.new,
                known=queued.known + reported.known,
                found_new=bool(arguments.get("found_new")),
                reason="; ".join(one for one in (str(arguments.get("reason", "")), *faults.values()) if one),
                dropped=len(faults),
            )
        )

    def _record_vote(self, work: Work, arguments: dict[str, Any], events: Events) -> None:
        finding = self._facts.findings[work.about]
        verdict: Vote = arguments["verdict"]
        if not (work.work or "").startswith(f"sceptic:{finding.key}#{finding.round}."):
            events.record(
                WorkFinished(
                    kind=work.kind, about=work.about, ok=True, reason=f"{verdict}, too late: the finding was sent back"
                )
            )
            return  # it was sent back meanwhile and is judged again
        other = self._facts.findings.get(str(arguments.get("duplicate_of")))
        if verdict == "duplicate" and (other is None or other is finding):
            verdict = "refuted"  # a duplicate of an unknown finding cannot stand for it
        elif verdict == "duplicate" and other is not None and other.seq > finding.seq:
            verdict = "stands"  # of two equal findings the later one is the duplicate
        events.record(
            VoteCast(
                key=work.about,
                by=work.work or "",
                verdict=verdict,
                reason=str(arguments.get("reason", "")),
                duplicate_of=other.key if verdict == "duplicate" and other is not None else None,
            )
        )
        events.record(WorkFinished(kind=work.kind, about=work.about, ok=True, reason=verdict))

    def _record_evidence(self, work: Work, arguments: dict[str, Any], events: Events, served: set[str]) -> None:
        faults, given = self._without_place(arguments, served, None), enumerate(arguments.get("findings", ()), 1)
        reports = [msgspec.convert(one, ReportedFinding) for number, one in given if number not in faults]
        if work.work != f"evidence:{work.about}#{self._facts.findings[work.about].round}":
            events.record(
                WorkFinished(
                    kind=work.kind, about=work.about, ok=True, reason="too late: the finding was sent back again"
                )
            )
            return
        no_report = str(arguments.get("reason", "")) or "no further evidence"
        detail = reports[0].detail or reports[0].title if reports else no_report
        events.record(EvidenceAdded(key=work.about, detail=detail, evidence=reports[0].evidence if reports else ""))
        events.record(WorkFinished(kind=work.kind, about=work.about, ok=True))

    def _record_proposal(self, work: Work, arguments: dict[str, Any], events: Events) -> None:
        lens: dict[str, Any] = arguments.get("lens") or {}
        name, prompt = str(lens.get("name", "")), str(lens.get("prompt", ""))
        _take_proposal(self._facts, name, prompt, str(arguments.get("reason", "")), events)
        events.record(WorkFinished(kind=work.kind, about=work.about, ok=True))


def _lens_model_spec(spec: ModelSpec, name: str) -> ModelSpec:
    """Return a lens's own model, with the run's server and key if the provider is the same."""
    if name.partition("/")[0] != spec.name.partition("/")[0]:
        return ModelSpec(name=name)
    return ModelSpec(name=name, api_base=spec.api_base, key_from=spec.key_from)


def _take_proposal(facts: FinderFacts, name: str, prompt: str, text: str, events: Events) -> None:
    """Add the lens that the completeness critic proposed (docs/requirements.md 2.4.7). It then runs once.

    A prompt that ran already under that name is not run again.
    """
    name, prompt = name.strip(), prompt.strip()
    namesakes = _namesakes(facts.lenses.values(), name)
    if not name or not prompt:
        events.record(CriticSpoke(half="model", text=text or "nothing is missing"))
        return
    if same := next((lens for lens in namesakes if _words(lens.prompt) == _words(prompt)), None):
        events.record(
            CriticSpoke(half="model", text=f"{text or 'proposed a lens'}: {same.name} has this prompt already")
        )
        return
    own = name if name not in facts.lenses else _free_name(facts, name)
    added = [
        LensAdded(name=own, prompt=prompt, by="critic", once=True),
        *further_parts(facts.parts, own, prompt, "critic", once=True),
    ]
    for event in added:
        events.record(event)
    events.record(CriticSpoke(half="model", lenses=[event.name for event in added], text=text))


def _namesakes(lenses: Iterable[LensFacts], name: str) -> list[LensFacts]:
    """Return the lens of that name and those that the critic proposed under it."""
    return [lens for lens in lenses if lens.name == name or (lens.by == "critic" and lens.name.startswith(f"{name}-"))]


def _free_name(facts: FinderFacts, name: str) -> str:
    return next(own for number in count(2) if (own := f"{name}-{number}") not in facts.lenses)


def _words(prompt: str) -> list[str]:
    return prompt.casefold().split()
