"""Fold the events of one run into spans: one for the run, each step, each model call and each tool call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...protocol import (
    Budget,
    BudgetChanged,
    CallAdmitted,
    Charged,
    Event,
    Fault,
    FinishKind,
    ModelSwitched,
    ProposalDecided,
    ProposalOpened,
    Reason,
    ReasoningArrived,
    ReplyFinished,
    RunEnded,
    RunResumed,
    RunStarted,
    Stamped,
    StepFinished,
    StepStarted,
    TextArrived,
    ToolCalled,
    ToolFinished,
)
from ...protocol.messages import Message
from ...protocol.version import VERSION
from ...state.facts.conversation import CONVERSATION_EVENTS
from . import conventions as names
from .message_content import call_part, input_messages, output_message
from .span import OpenSpan, Span, Value, event_span_id, run_span_id
from .span_prompts import Prompts

_INTERRUPTED = "interrupted"
"""Class of the error of a span that something else ended: a stop, an interrupt, a runner that was killed."""
SPAN_EVENTS: frozenset[type[Event]] = frozenset(
    (
        BudgetChanged,
        CallAdmitted,
        Charged,
        Fault,
        ModelSwitched,
        ProposalDecided,
        ProposalOpened,
        ReplyFinished,
        RunEnded,
        RunResumed,
        RunStarted,
        StepFinished,
        StepStarted,
        ToolCalled,
        ToolFinished,
    )
)
"""The events that begin, end or describe a span, without the text of answers."""
_TEXT_EVENTS = frozenset((TextArrived, ReasoningArrived))
CONTENT_EVENTS = SPAN_EVENTS | CONVERSATION_EVENTS | _TEXT_EVENTS
"""With them, the events that tell what a call sent and got."""

_ERRORS = (Reason.ERROR, Reason.REFUSED)
"""Ends that are errors. Any other end, such as an exhausted budget, is in `rundry.reason` only."""


@dataclass(slots=True)
class _Answer:
    """What the model answers in one call."""

    text: str = ""
    reasoning: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


@dataclass(slots=True)
class _Held:
    """A call that has ended, and whose tool calls are still to come: they are recorded after its end."""

    call: OpenSpan
    at: float
    finish: FinishKind
    missing: int
    answer: _Answer


class RunSpans:
    """The spans of one run. Feed it the events in order; it returns each span once, when it has ended."""

    def __init__(self, run_id: str, trace: int, parent: int | None, *, with_content: bool) -> None:
        """`parent`: the span of the run above. `with_content`: add task, answers, arguments and results."""
        self._run_id, self._trace, self._parent, self._with_content = run_id, trace, parent, with_content
        self._session = 0
        self._run: OpenSpan | None = None
        self._steps: dict[int, OpenSpan] = {}
        self._calls: dict[str | None, OpenSpan] = {}
        """By work: each has at most one call at a time."""
        self._tools: dict[str, OpenSpan] = {}
        self._gated: dict[str, tuple[str, float]] = {}
        """Call of each open proposal, and the time since which it is open."""
        self._answers: dict[str | None, _Answer] = {}
        self._held: dict[str | None, _Held] = {}
        self._prompts = Prompts() if with_content else None
        self._last_at = 0.0
        self._model = ""
        self._budget: Budget | None = None

    def apply(self, stamped: Stamped) -> list[Span]:
        """Fold the next event. Returns the spans that it ends."""
        kind = type(stamped.event)
        if self._prompts is not None:
            self._prompts.apply(stamped)
        if kind in _TEXT_EVENTS:
            self._text(stamped)
            return []
        if kind not in SPAN_EVENTS:
            return []
        ended = [*self._ended_by(stamped)]
        self._last_at = stamped.at
        return ended

    def _ended_by(self, stamped: Stamped) -> Iterator[Span]:
        """Begin, describe and end spans. Yields those that end."""
        at, work = stamped.at, stamped.work
        match stamped.event:
            case RunStarted() as started:
                self._model, self._budget = started.model, started.budget
                self._begin_run(at)
                self._describe(_start_attributes(started, with_content=self._with_content))
            case RunResumed():
                yield from self._end_all(self._last_at)
                self._begin_run(at)
            case ModelSwitched(model=model):
                self._model = model
            case BudgetChanged(budget=budget):
                self._budget = budget
                self._describe(_budget_attributes(budget))
            case StepStarted(number=number):
                self._steps[number] = self._opened(stamped, f"step {number}", _step_attributes(number), is_step=True)
            case StepFinished(number=number):
                yield from self._release(work)
                yield from self._end_call(work, at, _INTERRUPTED)
                if (step := self._steps.pop(number, None)) is not None:
                    yield step.ended(self._trace, at)
            case RunEnded() as ended:
                self._describe(_end_attributes(ended, with_content=self._with_content))
                yield from self._end_all(at, ended)
            case _:
                yield from self._in_step(stamped)

    def _in_step(self, stamped: Stamped) -> Iterator[Span]:
        at, work = stamped.at, stamped.work
        match stamped.event:
            case CallAdmitted() as admitted:
                yield from self._release(work)
                yield from self._end_call(work, at, _INTERRUPTED)
                self._begin_call(stamped, admitted)
            case Charged() as charged:
                self._charge(work, charged)
            case ReplyFinished() as reply:
                yield from self._end_reply(work, at, reply)
            case Fault(kind=kind, text=text):
                yield from self._end_call(work, at, kind, text)
            case ToolCalled() as called:
                yield from self._note_call(work, called)
                self._begin_tool(stamped, called)
            case ToolFinished() as finished:
                yield from self._end_tool(at, finished)
            case ProposalOpened(proposal_id=proposal, call_id=call):
                self._gated[proposal] = (call, at)
            case ProposalDecided() as decided:
                self._decide(at, decided)
            case _:
                pass

    def _begin_run(self, at: float) -> None:
        self._session += 1
        link = run_span_id(self._run_id, self._session - 1) if self._session > 1 else None
        run = OpenSpan(
            id=run_span_id(self._run_id, self._session), parent=self._parent, name="invoke_agent rundry", start=at
        )
        run.link = link
        provider, model = names.provider_and_model(self._model)
        run.attributes |= {
            names.OPERATION: "invoke_agent",
            names.AGENT: "rundry",
            names.AGENT_VERSION: VERSION,
            names.PROVIDER: provider,
            names.MODEL: model,
            names.CONVERSATION: self._run_id,
        }
        self._run = run
        if self._budget is not None:
            self._describe(_budget_attributes(self._budget))

    def _describe(self, attributes: dict[str, Value]) -> None:
        if self._run is not None:
            self._run.attributes |= attributes

    def _opened(self, stamped: Stamped, name: str, attributes: dict[str, Value], *, is_step: bool = False) -> OpenSpan:
        """Begin a span below the step of the event, or below the run."""
        if self._run is None:  # a run that had ended continues with the same runner
            self._begin_run(stamped.at)
        assert self._run is not None
        step = None if is_step or stamped.step is None else self._steps.get(stamped.step)
        parent = self._run if step is None else step
        if stamped.work is not None:
            attributes["rundry.work"] = names.short_name(stamped.work)
        return OpenSpan(
            id=event_span_id(self._run_id, stamped.seq),
            parent=parent.id,
            name=name,
            start=stamped.at,
            attributes=attributes,
        )

    def _begin_call(self, stamped: Stamped, admitted: CallAdmitted) -> None:
        provider, model = names.provider_and_model(admitted.model or self._model)
        call = self._opened(
            stamped,
            f"chat {model}",
            {
                names.OPERATION: "chat",
                names.PROVIDER: provider,
                names.MODEL: model,
                names.CONVERSATION: self._run_id,
                names.STREAM: True,
                names.MAX_TOKENS: admitted.max_tokens,
                "rundry.wrap_up": admitted.wrap_up,
            },
        )
        call.kind = "client"
        if self._prompts is not None:
            system, call.attributes[names.INPUT], left_out = input_messages(self._prompts.of(stamped.work))
            call.attributes |= {names.SYSTEM: system} if system else {}
            call.attributes |= {"rundry.input.left_out": left_out} if left_out else {}
        self._calls[stamped.work] = call

    def _text(self, stamped: Stamped) -> None:
        call, event = self._calls.get(stamped.work), stamped.event
        if call is None:
            return
        call.attributes.setdefault(names.FIRST_CHUNK, max(0.0, stamped.at - call.start))
        if self._prompts is not None and isinstance(event, TextArrived | ReasoningArrived):
            answer = self._answers.setdefault(stamped.work, _Answer())
            if isinstance(event, ReasoningArrived):
                answer.reasoning += event.text
            else:
                answer.text += event.text

    def _charge(self, work: str | None, charged: Charged) -> None:
        held = self._held.get(work)
        call = self._calls.get(work) or (held and held.call)
        if call is None:
            return
        call.attributes |= {names.TOKENS_IN: charged.tokens_in, names.TOKENS_OUT: charged.tokens_out}
        if charged.tokens_cached:
            call.attributes[names.TOKENS_CACHED] = charged.tokens_cached
        if charged.tokens_written:
            call.attributes[names.TOKENS_WRITTEN] = charged.tokens_written
        if charged.tokens_reasoning:
            call.attributes[names.TOKENS_REASONING] = charged.tokens_reasoning
        if charged.usd is not None:
            call.attributes["rundry.usd"] = charged.usd
        if charged.estimated:
            call.attributes["rundry.usage.estimated"] = True

    def _end_reply(self, work: str | None, at: float, reply: ReplyFinished) -> Iterator[Span]:
        """End a call with a whole answer. With content, it is held until its tool calls were recorded."""
        call = self._calls.get(work)
        if call is None or self._prompts is None or not reply.calls:
            yield from self._end_call(work, at, finish=reply.finish)
            return
        del self._calls[work]
        answer = self._answers.pop(work, _Answer())
        self._held[work] = _Held(call, at, reply.finish, reply.calls, answer)

    def _note_call(self, work: str | None, called: ToolCalled) -> Iterator[Span]:
        held = self._held.get(work)
        if held is None or called.by == "person":
            return
        held.answer.calls.append(call_part(called.call_id, called.tool, called.arguments))
        held.missing -= 1
        if not held.missing:
            yield from self._release(work)

    def _release(self, work: str | None) -> Iterator[Span]:
        """End the call that was held, with the tool calls that are known."""
        if (held := self._held.pop(work, None)) is not None:
            yield self._answered(held.call, held.at, held.answer, held.finish)

    def _end_call(
        self,
        work: str | None,
        at: float,
        error: str | None = None,
        detail: str = "",
        *,
        finish: FinishKind | None = None,
    ) -> Iterator[Span]:
        call, answer = self._calls.pop(work, None), self._answers.pop(work, _Answer())
        if call is not None:
            yield self._answered(call, at, answer, finish, error, detail)

    def _answered(
        self,
        call: OpenSpan,
        at: float,
        answer: _Answer,
        finish: FinishKind | None,
        error: str | None = None,
        detail: str = "",
    ) -> Span:
        if finish is not None:
            call.attributes[names.FINISH] = [finish]
        if said := output_message(answer.text, answer.reasoning, answer.calls, finish):
            call.attributes[names.OUTPUT] = said
        return call.ended(self._trace, at, error, detail if self._with_content else "")

    def _begin_tool(self, stamped: Stamped, called: ToolCalled) -> None:
        name = names.short_name(called.tool)
        tool = self._opened(
            stamped,
            f"execute_tool {name}",
            {
                names.OPERATION: "execute_tool",
                names.TOOL: name,
                names.TOOL_CALL: names.short_name(called.call_id),
                names.TOOL_TYPE: "function",
                "rundry.by": called.by,
            },
        )
        if self._with_content:
            tool.attributes[names.ARGUMENTS] = names.content(called.arguments)
        self._tools[called.call_id] = tool

    def _decide(self, at: float, decided: ProposalDecided) -> None:
        call_id, opened_at = self._gated.pop(decided.proposal_id, ("", at))
        if (tool := self._tools.get(call_id)) is not None:
            tool.attributes |= {
                "rundry.gate.decision": decided.decision,
                "rundry.gate.by": decided.channel or decided.by,
                "rundry.gate.seconds": max(0.0, at - opened_at),
            }

    def _end_tool(self, at: float, finished: ToolFinished) -> Iterator[Span]:
        tool = self._tools.pop(finished.call_id, None)
        if tool is None:
            return
        if self._with_content:
            tool.attributes[names.RESULT] = names.content(finished.result)
        yield tool.ended(self._trace, at, None if finished.ok else "tool_error")

    def _end_all(self, at: float, ended: RunEnded | None = None) -> Iterator[Span]:
        """End everything that is open. Without `ended`, the runner was killed."""
        for work in list(self._held):
            yield from self._release(work)
        for work in list(self._calls):
            yield from self._end_call(work, at, _INTERRUPTED)
        for span in self._tools.values():
            yield span.ended(self._trace, at, _INTERRUPTED)
        for step in self._steps.values():
            yield step.ended(self._trace, at, None if ended is not None else _INTERRUPTED)
        for spans in (self._tools, self._steps, self._answers, self._gated):
            spans.clear()
        if self._run is not None:
            detail = ended.detail if ended is not None and self._with_content else ""
            yield self._run.ended(self._trace, at, _INTERRUPTED if ended is None else _error_of(ended), detail)
            self._run = None


def _step_attributes(number: int) -> dict[str, Value]:
    return {"rundry.step": number, names.KIND: "CHAIN"}


def _start_attributes(started: RunStarted, *, with_content: bool) -> dict[str, Value]:
    """Return the attributes of a run that are known at its start."""
    found: dict[str, Value] = {"rundry.loop": started.loop.value, "rundry.gate.mode": started.gate.value}
    if started.parent is not None:
        found["rundry.parent"] = started.parent.run_id
    if with_content and started.task:
        _, found[names.INPUT], _ = input_messages([Message(role="user", text=started.task)])
        found["input.value"] = names.content(started.task)
    return found


def _budget_attributes(budget: Budget) -> dict[str, Value]:
    """Return the limits of a run: steps, tokens, USD, seconds, and a Unix time. A limit that is not set is missing."""
    limits = {
        "steps": budget.steps,
        "tokens": budget.tokens,
        "usd": budget.usd,
        "seconds": budget.seconds,
        "deadline": budget.deadline,
    }
    return {f"rundry.budget.{name}": limit for name, limit in limits.items() if limit is not None}


def _end_attributes(ended: RunEnded, *, with_content: bool) -> dict[str, Value]:
    """Return the outcome of a run, and what all its sessions used."""
    found: dict[str, Value] = {
        "rundry.reason": ended.reason.value,
        "rundry.complete": ended.complete,
        "rundry.exit_code": ended.exit_code,
        "rundry.steps": ended.steps,
        "rundry.seconds": ended.seconds,
        names.TOKENS_IN: ended.tokens.in_,
        names.TOKENS_OUT: ended.tokens.out,
    }
    if ended.usd is not None:
        found["rundry.usd"] = ended.usd
    if with_content and ended.detail:
        found["rundry.detail"] = names.content(ended.detail)
    if with_content and ended.answer:
        found[names.OUTPUT] = output_message(ended.answer, "", [], "stop")
        found["output.value"] = names.content(ended.answer)
    return found


def _error_of(ended: RunEnded) -> str | None:
    """Return the class of the error with which a run ended, or None if the end is not an error."""
    return ended.reason.value if ended.reason in _ERRORS else None
