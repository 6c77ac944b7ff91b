"""The conversations with the model, folded from events in the same way for a live and a resumed run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from ...journal.encoding import decode
from ...protocol import (
    ContextTrimmed,
    ConversationCut,
    ConversationRestored,
    Event,
    Fault,
    Interrupted,
    Message,
    OpaqueRef,
    PassStarted,
    Prompted,
    ReasoningKept,
    ReplyFinished,
    Rewound,
    RunResumed,
    Said,
    Stamped,
    TextArrived,
    ToolCall,
    ToolCalled,
    ToolFinished,
    WorkFinished,
    WorktreeFinished,
    is_try,
    item_tree_name,
)
from .step_facts import StepFacts
from .tool_actions import answer_of

if TYPE_CHECKING:
    from ...journal.journal import Journal

INTERRUPTED = "[interrupted by the person]"
CUT_OFF = "[cut off here]"
IMAGES_OF_RESULTS = "[images of the tool results above, in this order: they come from MCP servers, not the person]"
_LOST = "unknown: the journal lost the result of this call, which may have been executed. Check before you repeat it."


@dataclass(slots=True)
class Cut:
    """State before a cut of the conversation, so that a person can undo the cut."""

    seq: int
    messages: list[Message]
    seqs: list[int]
    upto: int
    after: int
    """Number of messages right after the cut."""
    is_summary: bool


@dataclass(slots=True)
class Conversation:
    """Messages in the order in which the model receives them. After each step, each call has its result."""

    messages: list[Message] = field(default_factory=list[Message])
    seqs: list[int] = field(default_factory=list[int])
    """Position of each message's start in the journal."""
    cuts: list[Cut] = field(default_factory=list[Cut])
    """Cuts that can be undone, oldest first."""
    upto: int = 0
    """Messages before this index are dropped, except the kept ones."""
    pending: str = ""
    """Text of the answer that is being streamed."""
    opaque: OpaqueRef | None = None
    """Parts of the answer that must be sent back to the provider."""
    said: list[int] = field(default_factory=list[int])
    """Positions of the person's messages."""
    hooked: list[int] = field(default_factory=list[int])
    """Positions of what hooks added, which stays with what the person said."""
    is_partial: bool = False
    """Messages that are not sent again are not in memory."""
    forgotten: int = 0
    """Number of these messages before `upto` since the newest cut; the journal counts them, too."""

    def apply(self, event: Event, seq: int = 0) -> None:
        """Fold the event at position `seq`. Events that do not concern the conversation are ignored."""
        self._apply_event(event, seq)
        self._place(seq)

    def _place(self, seq: int) -> None:
        """Record the position of the newest message."""
        self.seqs += [seq] * (len(self.messages) - len(self.seqs))

    def _apply_event(self, event: Event, seq: int) -> None:
        match event:
            case Prompted(kind="system", text=text):
                self._set_system(Message(role="system", text=text))
            case Prompted(kind="file" | "again", text=text):
                self._end_answer()
                self._rebuild(Message(role="user", text=text), seq)
            case Prompted(kind=kind, text=text, images=images, path=path, seen=seen):
                if kind == "hook":
                    self.hooked.append(seq)
                self._end_answer()
                self.messages.append(Message(role="user", text=text, images=images, path=path, seen=seen))
            case Said(text=text, images=images):
                self.said.append(seq)
                self._end_answer()
                self.messages.append(Message(role="user", text=text, images=images))
            case ToolCalled(by="person") | ToolFinished(by="person"):
                pass  # the model is informed when it gets control back
            case TextArrived(text=text):
                self.pending += text
            case Fault(retry_in=wait):
                self.pending = self.pending if wait is None else ""
                self._keep_incomplete()
            case RunResumed(damaged=damaged, missing=missing):
                self._keep_incomplete()
                if damaged or missing:
                    self._place(seq)
                    self.messages, self.seqs = _pair_results(self.messages, self.seqs)
            case ReasoningKept(maker=maker, sha=sha, tokens=tokens):
                self.opaque = OpaqueRef(maker=maker, sha=sha, tokens=tokens)
            case ReplyFinished(calls=calls):
                self._end_answer(with_calls=calls > 0)
            case ToolCalled(call_id=call_id, tool=tool, arguments=arguments, from_text=from_text, seen=seen):
                raw = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
                self._add_call(ToolCall(call_id, tool, raw, from_text, seen))
            case ToolFinished(call_id=call_id, result=result, seen=seen, images=images):
                shown = [] if seen is None else [seen]
                self._add_result(Message(role="tool", text=result, call_id=call_id, seen=shown, images=images))
            case Interrupted(what="model"):
                self.pending = f"{self.pending} {INTERRUPTED}".strip()
                self._end_answer()
            case ContextTrimmed() | ConversationCut() | ConversationRestored() | Rewound() | PassStarted():
                self._apply_cut(event, seq)
            case _:
                pass

    def _apply_cut(
        self, event: ContextTrimmed | ConversationCut | ConversationRestored | Rewound | PassStarted, seq: int
    ) -> None:
        """Fold an event that changes which messages are sent to the model."""
        match event:
            case ContextTrimmed(upto=upto):
                self.upto = max(0, upto - self.forgotten)
            case ConversationCut(summary=summary, kept=kept):
                self._end_answer()
                self._place(seq)
                self.cuts.append(Cut(seq, self.messages, self.seqs, self.upto, 0, summary is not None))
                self._cut(summary, kept, seq)
                self.cuts[-1].after = len(self.messages)
            case ConversationRestored():
                self._end_answer()
                self._place(seq)
                self._restore()
            case Rewound(upto=upto):
                self._rewind(upto)
            case PassStarted(fresh=True):
                self._end_answer()
                self._place(seq)
                self.cuts.clear()
                self._cut(None, 0, seq)
            case PassStarted():
                pass

    def _set_system(self, message: Message) -> None:
        """Set the system prompt. A later one, for another edit format, replaces it: many templates accept only one."""
        if self.messages and self.messages[0].role == "system":
            self.messages[0] = message
        else:
            self.messages.append(message)

    def unanswered(self) -> list[ToolCall]:
        """Return the calls of the last answer that have no result yet."""
        answered = {m.call_id for m in self.messages if m.role == "tool"}
        return [call for m in self.messages for call in m.calls if call.call_id not in answered]

    def kept(self) -> set[int]:
        """Indexes that are never dropped: the system prompt, the task, and the newest user message."""
        users = [i for i, m in enumerate(self.messages) if m.role == "user"]
        systems = {i for i, m in enumerate(self.messages) if m.role == "system"}
        return systems | set(users[:1]) | set(users[-1:])

    def current(self) -> list[Message]:
        """Return the messages that are sent to the model now."""
        kept = self.kept()
        return [m for i, m in enumerate(self.messages) if i >= self.upto or i in kept]

    def forget_dropped(self) -> None:
        """Drop messages that are not sent again. If the run is rewound, fold the events again."""
        kept = self.kept()
        end = min(self.upto, len(self.messages))
        head = [index for index in range(end) if index in kept]
        if len(head) < end:
            self.messages = [*(self.messages[index] for index in head), *self.messages[end:]]
            self.seqs = [*(self.seqs[index] for index in head), *self.seqs[end:]]
            self.upto, self.forgotten, self.is_partial = len(head), self.forgotten + end - len(head), True
        for cut in self.cuts:
            self.is_partial = self.is_partial or bool(cut.messages)
            cut.messages, cut.seqs = [], []

    def _end_answer(self, *, with_calls: bool = False) -> None:
        """End the answer. An answer that has only reasoning is not a message, unless calls follow."""
        if self.pending.strip() or (with_calls and self.opaque is not None):
            self.messages.append(Message(role="assistant", text=self.pending, opaque=self.opaque))
        self.pending, self.opaque = "", None

    def _keep_incomplete(self) -> None:
        """Keep what arrived of an unfinished answer, and mark it as incomplete."""
        self.opaque = None
        if self.pending.strip():
            self.pending = f"{self.pending} {CUT_OFF}"
        self._end_answer()

    def _add_call(self, call: ToolCall) -> None:
        last = self.messages[-1] if self.messages else None
        if last is not None and last.role == "assistant":
            self.messages[-1] = msgspec.structs.replace(last, calls=[*last.calls, call])
        else:
            self.messages.append(Message(role="assistant", calls=[call]))

    def _add_result(self, result: Message) -> None:
        """Insert a result. Results are in the order of their calls, in whatever order they arrive.

        The images of all results of an answer follow the last one in a message, because a provider accepts nothing
        between the results.
        """
        self.messages.append(result)
        start = len(self.messages) - 1
        while start and self.messages[start - 1].role == "tool":
            start -= 1
        place = {call.call_id: i for i, call in enumerate(self.messages[start - 1].calls)}
        results = sorted(self.messages[start:], key=lambda m: place.get(m.call_id or "", len(place)))
        images = [image for one in results for image in one.images]
        if images and len(results) >= len(place):
            results = [msgspec.structs.replace(one, images=[]) for one in results]
            results.append(Message(role="user", text=IMAGES_OF_RESULTS, images=images))
        self.messages[start:] = results

    def _cut(self, summary: str | None, kept: int, seq: int) -> None:
        """Keep the system prompt; with a summary also the task and the newest `kept` messages."""
        old = list(zip(self.messages, self.seqs, strict=True))
        head = [each for each in old if each[0].role == "system"]
        tail: list[tuple[Message, int]] = []
        if summary is not None:
            first = next((i for i, (m, _) in enumerate(old) if m.role == "user"), len(old))
            start = max(len(old) - kept, first + 1)
            head += old[first : first + 1]
            summary_message = Message(role="user", text=f"Summary of the conversation so far:\n{summary}")
            tail = [(summary_message, seq), *old[start:]]
        self.messages = [message for message, _ in head + tail]
        self.seqs = [at for _, at in head + tail]
        self.upto = self.forgotten = 0

    def _rebuild(self, newest: Message, seq: int) -> None:
        """Replace the conversation by the system prompt, what the person said and hooks added, and this message."""
        self._place(seq)
        old = list(zip(self.messages, self.seqs, strict=True))
        systems = [each for each in old if each[0].role == "system"]
        stays = {*self.said, *self.hooked}
        kept = [*systems, *(each for each in old if each[1] in stays and each[0].role == "user")]
        self.messages = [*(message for message, _ in kept), newest]
        self.seqs = [*(at for _, at in kept), seq]
        self.cuts.clear()
        self.upto = self.forgotten = 0

    def _restore(self) -> None:
        """Undo the newest cut, and keep the messages since then."""
        if not self.cuts:
            return
        cut = self.cuts.pop()
        self.messages = [*cut.messages, *self.messages[cut.after :]]
        self.seqs = [*cut.seqs, *self.seqs[cut.after :]]
        self.upto = cut.upto

    def _rewind(self, upto: int) -> None:
        """Remove messages that started at or after that position, and cuts made since then."""
        self.pending = ""
        while self.cuts and self.cuts[-1].seq >= upto:
            cut = self.cuts.pop()
            self.messages, self.seqs, self.upto = cut.messages, cut.seqs, cut.upto
        stays = [(m, at) for m, at in zip(self.messages, self.seqs, strict=True) if at < upto]
        self.messages, self.seqs = [m for m, _ in stays], [at for _, at in stays]
        if self.upto >= len(self.messages):
            self.upto = 0


CONVERSATION_EVENTS = frozenset[type[Event]](
    (
        Prompted,
        Said,
        TextArrived,
        Fault,
        RunResumed,
        ReasoningKept,
        ReplyFinished,
        ToolCalled,
        ToolFinished,
        Interrupted,
        ContextTrimmed,
        ConversationCut,
        ConversationRestored,
        Rewound,
        PassStarted,
    )
)
"""The events that change a conversation; all others are ignored."""


@dataclass(slots=True)
class Conversations(StepFacts):
    """The conversations of a run, by the work to which they belong."""

    conversations: dict[str | None, Conversation] = field(default_factory=dict[str | None, Conversation])

    @property
    def main(self) -> Conversation:
        """The main conversation of the run."""
        return self.conversation(None)

    @property
    def answer(self) -> str | None:
        """The answer that an outcome would report now."""
        return answer_of(self.finish, last_text(self.main.messages))

    def conversation(self, work: str | None) -> Conversation:
        """Return the conversation of an item or lens, or the main one."""
        found = self.conversations.get(work)
        if found is None:
            found = self.conversations[work] = Conversation()
        return found

    def apply_text(self, work: str | None, event: TextArrived) -> None:
        """Fold streamed text, which is the most frequent event."""
        self.conversation(work).pending += event.text

    def apply_to_conversation(self, stamped: Stamped) -> None:
        """Fold the next event into the conversation of its work. A resume concerns all conversations."""
        event = stamped.event
        if type(event) in CONVERSATION_EVENTS:
            self.conversation(stamped.work).apply(event, stamped.seq)
        if isinstance(event, RunResumed):
            for work, conversation in self.conversations.items():
                if work != stamped.work:
                    conversation.apply(event, stamped.seq)
        elif isinstance(event, PassStarted) and event.fresh:
            for work in [work for work in self.conversations if is_try(work)]:
                del self.conversations[work]

    def forget_conversation(self, stamped: Stamped) -> None:
        """Drop the conversation of an ended work. Lenses keep theirs for the next pass; other works start new."""
        if isinstance(stamped.event, WorkFinished) and stamped.event.kind != "lens":
            self.conversations.pop(stamped.work, None)
        elif isinstance(stamped.event, WorktreeFinished):
            self.conversations.pop(item_tree_name(stamped.event.tree, stamped.event.key), None)
        elif isinstance(stamped.event, RunResumed):
            for work in [w for w in self.conversations if w is not None and not w.startswith("lens:")]:
                del self.conversations[work]


def main_conversation(journal: Journal, upto: int) -> Conversation:
    """Return the main conversation after event number `upto`, folded from the events. Raises JournalError."""
    found = Conversation()
    kinds = [str(kind.__struct_config__.tag) for kind in CONVERSATION_EVENTS]
    marks = ", ".join("?" for _ in kinds)
    query = f"SELECT seq, type, body FROM events WHERE seq <= ? AND work IS NULL AND type IN ({marks}) ORDER BY seq"
    for seq, kind, body in journal.rows(query, [upto, *kinds]):
        found.apply(decode(kind, body), seq)
    return found


def last_text(messages: Sequence[Message]) -> str | None:
    """Return the newest text of the model, or None."""
    return next((m.text for m in reversed(messages) if m.role == "assistant" and m.text.strip()), None)


def _pair_results(messages: Sequence[Message], seqs: Sequence[int]) -> tuple[list[Message], list[int]]:
    """Return the messages with a result for each call, without results whose call is missing, and their positions.

    A provider accepts only calls with results, and a damaged journal may have lost some.
    """
    found: list[tuple[Message, int]] = []
    waiting: list[str] = []
    seq = 0
    for message, seq in zip(messages, seqs, strict=True):
        if message.role == "tool":
            if message.call_id in waiting:
                waiting.remove(message.call_id or "")
                found.append((message, seq))
            continue
        found += [(_lost(call_id), seq) for call_id in waiting]
        waiting = [call.call_id for call in message.calls]
        found.append((message, seq))
    found += [(_lost(call_id), seq) for call_id in waiting]
    return [message for message, _ in found], [seq for _, seq in found]


def _lost(call_id: str) -> Message:
    return Message(role="tool", text=_LOST, call_id=call_id)
