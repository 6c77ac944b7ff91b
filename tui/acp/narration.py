"""What an editor is shown of each event, live and when a stored run is replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    PlanEntry,
    SessionInfoUpdate,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    UserMessageChunk,
)

from rundry.agent import (
    CheckFinished,
    CheckStarted,
    Event,
    OutputArrived,
    PlanChanged,
    PlanStep,
    ProposalDecided,
    ProposalOpened,
    ProposalRebased,
    QuestionAnswered,
    QuestionAsked,
    ReasoningArrived,
    ReplyFinished,
    RunEnded,
    RunStarted,
    Said,
    Stamped,
    StepState,
    TextArrived,
    ToolCalled,
    ToolFinished,
    call_title,
    plan_steps,
)

from ..text.show_text import one_line
from .acp_text import StreamedText, plain_json, words
from .news import news_lines
from .tool_calls import (
    Content,
    Place,
    kind_of,
    location,
    locations_of,
    output_content,
    proposal_content,
    proposal_line,
    title_line,
)

Update = (
    AgentMessageChunk
    | AgentThoughtChunk
    | UserMessageChunk
    | ToolCallStart
    | ToolCallProgress
    | AgentPlanUpdate
    | SessionInfoUpdate
)
_SHOWN_ELSEWHERE = ("ask_person", "update_plan")
"""Tools whose calls another update shows: the question, the plan."""
_STATES: dict[StepState, Literal["pending", "in_progress", "completed"]] = {
    "open": "pending",
    "doing": "in_progress",
    "done": "completed",
}
_TITLE = 80


class Narration:
    """Turns the events of one run into updates for an editor."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.typed: list[str] = []
        """Messages that came from this editor and are not repeated."""
        self._text, self._thought = StreamedText(), StreamedText()
        self._proposals: dict[str, ProposalOpened] = {}
        self._shown: set[str] = set()
        """Ids of the tool calls that the editor knows."""
        self._diffs: set[str] = set()
        """Ids of those whose content is a diff, which stays when they end."""
        self._check = ""
        self._task = ""
        self._answer: list[str] = []
        """The pieces of the newest answer of the model."""
        self._is_answered = False
        self._has_text = False
        """The newest part of the agent's message is text of the model."""

    def of(self, stamped: Stamped) -> Iterator[Update]:
        """Yield the updates for the next event."""
        match stamped.event:
            case TextArrived(text=text):
                yield from _ended(self._thought, thought)
                if self._is_answered:
                    self._answer.clear()
                    if self._has_text:
                        yield message("\n\n")
                self._answer.append(text)
                self._is_answered, self._has_text = False, True
                yield from _pieces(self._text, text, message)
            case ReasoningArrived(text=text):
                yield from _ended(self._text, message)
                yield from _pieces(self._thought, text, thought)
            case ReplyFinished():
                self._is_answered = True
                yield from self.flush()
            case event:
                if (updates := list(self._others(event, stamped.seq))) != []:
                    yield from self.flush()
                    yield from updates
                if isinstance(event, RunStarted | Said) or any(isinstance(one, AgentMessageChunk) for one in updates):
                    self._has_text = False

    def flush(self) -> Iterator[Update]:
        """Yield what was held back of a streamed text."""
        yield from _ended(self._thought, thought)
        yield from _ended(self._text, message)

    def _others(self, event: Event, seq: int) -> Iterator[Update]:
        match event:
            case ToolCalled() | OutputArrived() | ToolFinished():
                yield from self._call(event)
            case ProposalOpened() | ProposalRebased() | ProposalDecided():
                yield from self._proposal(event)
            case CheckStarted() | CheckFinished():
                yield from self._checked(event, seq)
            case PlanChanged(lines=lines):
                yield AgentPlanUpdate(session_update="plan", entries=[_entry(step) for step in plan_steps(lines)[:100]])
            case QuestionAsked():
                yield message(question_words(event))
            case RunStarted() | Said() | QuestionAnswered():
                yield from self._said(event)
            case _:
                pass
        if isinstance(event, RunEnded) and event.answer and event.answer.strip() != "".join(self._answer).strip():
            yield message(f"\n\n{words(event.answer)}\n")
        if lines := news_lines(event):
            yield message("\n\n" + "\n".join(f"> {words(line)}" for line in lines) + "\n\n")

    def _call(self, event: ToolCalled | OutputArrived | ToolFinished) -> Iterator[Update]:
        place, call_id = self._place, event.call_id
        if isinstance(event, ToolCalled):
            if event.tool in _SHOWN_ELSEWHERE:
                return
            self._shown.add(call_id)
            kind = kind_of(event.tool)
            yield ToolCallStart(
                session_update="tool_call",
                tool_call_id=call_id,
                title=title_line(call_title(event.tool, event.arguments)),
                kind=kind,
                status="pending" if kind in ("edit", "execute") else "in_progress",
                locations=locations_of(event.tool, event.arguments, place.workspace),
                raw_input=plain_json(event.arguments, place.hide),
            )
        elif call_id not in self._shown:
            return
        elif isinstance(event, OutputArrived):
            if call_id not in self._diffs:
                yield progress(call_id, content=output_content(event.line, place))
        else:
            keeps = event.ok and call_id in self._diffs
            content = None if keeps else output_content(event.result, place)
            yield progress(call_id, status="completed" if event.ok else "failed", content=content)

    def _proposal(self, event: ProposalOpened | ProposalRebased | ProposalDecided) -> Iterator[Update]:
        if isinstance(event, ProposalOpened):
            self._proposals[event.proposal_id] = event
            yield from self._opened(event)
            return
        opened = self._proposals.get(event.proposal_id)
        if opened is None:
            return
        if isinstance(event, ProposalRebased):
            opened = self._proposals[event.proposal_id] = rebased(opened, event)
            yield from self._opened(opened)
        elif event.decision == "reject":
            yield progress(call_of(opened), status="failed")
        else:
            yield progress(call_of(opened), status="in_progress")

    def _opened(self, opened: ProposalOpened) -> Iterator[Update]:
        place, call_id = self._place, call_of(opened)
        title = proposal_line(opened)
        status = "pending" if opened.asks else "in_progress"
        where = [] if opened.path is None else [location(opened.path, place.workspace)]
        if opened.path is not None:
            self._diffs.add(call_id)
        content = proposal_content(opened, place)
        if call_id not in self._shown:
            self._shown.add(call_id)
            kind = kind_of(opened.tool)
            yield ToolCallStart(session_update="tool_call", tool_call_id=call_id, title=title, kind=kind)
        yield progress(call_id, status=status, title=title, content=content, locations=where)

    def _checked(self, event: CheckStarted | CheckFinished, seq: int) -> Iterator[Update]:
        if isinstance(event, CheckStarted):
            self._check = f"check-{seq}"
            title = title_line(f"check {event.command}")
            yield ToolCallStart(
                session_update="tool_call", tool_call_id=self._check, title=title, kind="execute", status="in_progress"
            )
        elif self._check:
            why = "\n".join(line for line in (event.output, event.error, event.suspect, event.uncounted) if line)
            status = "completed" if event.passed else "failed"
            yield progress(self._check, status=status, content=output_content(why, self._place))
            self._check = ""

    def _said(self, event: RunStarted | Said | QuestionAnswered) -> Iterator[Update]:
        if isinstance(event, RunStarted):
            text, self._task = event.task, event.task
            if text.strip():
                title = one_line(" ".join(text.split()))[:_TITLE]
                yield SessionInfoUpdate(session_update="session_info_update", title=title)
        else:
            text = event.text
            if isinstance(event, Said) and event.kind == "task" and text == self._task:
                return
        if not text.strip():
            return
        if text in self.typed:
            self.typed.remove(text)
        else:
            yield UserMessageChunk(session_update="user_message_chunk", content=text_of(words(text)))


def message(text: str) -> AgentMessageChunk:
    """Return a part of the agent's message."""
    return AgentMessageChunk(session_update="agent_message_chunk", content=text_of(text))


def thought(text: str) -> AgentThoughtChunk:
    """Return a part of the agent's thoughts."""
    return AgentThoughtChunk(session_update="agent_thought_chunk", content=text_of(text))


def text_of(text: str) -> TextContentBlock:
    """Return a text as content of a message."""
    return TextContentBlock(type="text", text=text)


def words_of(chunk: AgentMessageChunk | AgentThoughtChunk) -> str:
    """Return the text of a chunk that `message` or `thought` made."""
    return chunk.content.text if isinstance(chunk.content, TextContentBlock) else ""


def progress(call_id: str, *, content: Content | None = None, **changed: object) -> ToolCallProgress:
    """Return a change of a tool call that the editor knows. With None, its content stays as it is."""
    fields = {**changed, **({} if content is None else {"content": content})}
    return ToolCallProgress.model_validate({"session_update": "tool_call_update", "tool_call_id": call_id, **fields})


def call_of(opened: ProposalOpened) -> str:
    """Return the id under which the editor knows the call of a proposal."""
    return opened.call_id or opened.proposal_id


def rebased(opened: ProposalOpened, event: ProposalRebased) -> ProposalOpened:
    """Return the proposal as it is after a rebase."""
    import msgspec

    names = ("diff", "digest", "before", "after", "hunks", "added", "removed")
    return msgspec.structs.replace(opened, **{name: getattr(event, name) for name in names})


def question_words(event: QuestionAsked) -> str:
    """Return a question of the model with its numbered options."""
    options = "\n".join(f"{number}. {one_line(option)}" for number, option in enumerate(event.options, 1))
    answer = "Answer with a number or in your own words." if event.options else "Answer with your next message."
    return f"\n\n{words(event.question)}\n\n{options}\n\n*{answer}*\n"


def _pieces(stream: StreamedText, text: str, make: Callable[[str], Update]) -> Iterator[Update]:
    if shown := stream.piece(text):
        yield make(shown)


def _ended(stream: StreamedText, make: Callable[[str], Update]) -> Iterator[Update]:
    if shown := stream.end():
        yield make(shown)


def _entry(step: PlanStep) -> PlanEntry:
    """Return one step of the plan as the editor's protocol has it."""
    return PlanEntry(content=one_line(step.text), priority="medium", status=_STATES[step.state])
