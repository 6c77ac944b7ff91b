"""The verbs of `rundry ctl`: convert words of a command line into commands of a run. Does not import textual."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from rundry.agent import (
    AddItem,
    AddLens,
    AddScope,
    Answer,
    Command,
    Decide,
    GateVerdict,
    Judge,
    Merge,
    ModelSpec,
    RunState,
    Say,
    SetEditFormat,
    SetGateMode,
    SkipItem,
    Steer,
    SwitchModel,
    Undo,
    Unpause,
    Unqueue,
    UserError,
)

from ..control.typed_commands import effort_named, format_named, gate_mode_named, limit_of, typed_command
from ..text.show_text import one_line

QUEUED, STAGE = "queued", "stage"
"""Verbs that send no command to the run."""


@dataclass(frozen=True, slots=True)
class Given:
    """Words and options of the command line after the run's name."""

    verb: str
    words: Sequence[str] = ()
    now: bool = False
    reason: str | None = None
    digest: str | None = None
    api_base: str | None = None
    unsandboxed: bool = False


@dataclass(frozen=True, slots=True)
class Verb:
    """Definition of one verb."""

    takes: str
    """The arguments, as the help shows them."""
    about: str
    commands: Callable[[Given, RunState], list[Command]]
    """Returns the commands for the given words and what waits in the run. Raises UserError."""
    after_end: bool = False
    """It can resume an ended run that still has a runner."""


def commands_of(given: Given, state: RunState) -> list[Command]:
    """Return the commands for the run. Raises UserError if the words are not valid or nothing waits for them."""
    verb = verb_of(given.verb)
    if given.now and given.verb not in ("pause", "stop"):
        raise UserError(f"{given.verb} takes no --now: pause and stop do")
    if given.reason is not None and given.verb not in ("reject", "judge"):
        raise UserError(f"{given.verb} takes no --reason: reject and judge do")
    if given.digest is not None and given.verb not in ("approve", "reject", STAGE):
        raise UserError(f"{given.verb} takes no --digest: approve, reject and stage do")
    return verb.commands(given, state)


def verb_of(name: str) -> Verb:
    """Return the verb with this name. Raises UserError if there is none."""
    found = VERBS.get(name)
    if found is None:
        raise UserError(f"ctl {one_line(name)[:40]!r}: there is no such verb; {near(name)}there are {', '.join(VERBS)}")
    return found


def near(name: str) -> str:
    """Return `did you mean ...? ` if a verb has a similar name, else an empty text."""
    from difflib import get_close_matches

    found = get_close_matches(name, VERBS, n=1, cutoff=0.6)
    return f"did you mean `{found[0]}`? " if found else ""


def _nothing(given: Given, state: RunState) -> list[Command]:
    del state
    if given.words:
        raise UserError(f"{given.verb} takes no arguments, not {' '.join(given.words)[:60]!r}")
    return []


def _plain(make: Callable[[Given], Command]) -> Callable[[Given, RunState], list[Command]]:
    def commands(given: Given, state: RunState) -> list[Command]:
        return [*_nothing(given, state), make(given)]

    return commands


def _text(make: Callable[[str], Command]) -> Callable[[Given, RunState], list[Command]]:
    def commands(given: Given, state: RunState) -> list[Command]:
        del state
        return [make(_said(given))]

    return commands


def _said(given: Given) -> str:
    text = " ".join(given.words).strip()
    if not text:
        raise UserError(f'{given.verb} needs a text: rundry ctl RUN {given.verb} "..."')
    return text


def _withdraw(given: Given, state: RunState) -> list[Command]:
    """Withdraw the newest message, the one with that number, or the one that contains that text."""
    if not state.queue:
        raise UserError("no message is queued in this run, so there is nothing to withdraw")
    text = " ".join(given.words).strip()
    if not text:
        return [Unqueue(queued_id=max(state.queue))]
    if text.isdecimal() and int(text) in state.queue:
        return [Unqueue(queued_id=int(text))]
    found = [number for number, queued in state.queue.items() if text in queued.text]
    if len(found) != 1:
        count = "no queued message has" if not found else f"{len(found)} queued messages have"
        raise UserError(f"{count} the text {one_line(text)[:40]!r}: `queued` lists them with their numbers")
    return [Unqueue(queued_id=found[0])]


def _named(given: Given) -> list[str]:
    """Return the words, as many as the verb's `takes` names. Raises UserError."""
    takes = VERBS[given.verb].takes.split()
    if len(given.words) != len(takes):
        raise UserError(f"{given.verb} takes {' '.join(takes)}, not {len(given.words)} words: quote what has spaces")
    return list(given.words)


def _typed(given: Given, state: RunState) -> list[Command]:
    """Read what follows the verb as the message box of the screen does."""
    del state
    return [typed_command(given.verb, " ".join([*given.words, *(["now"] if given.now else [])]))]


def _limits(given: Given, state: RunState) -> list[Command]:
    """Read several limits as `steps=60 usd=2`, or one as `steps 60`."""
    del state
    if not given.words:
        raise UserError("limit needs NAME=VALUE, one or more: steps=60 usd=2 time=30m window=6 run_command=30/min")
    several = all("=" in word for word in given.words)
    return [limit_of(word) for word in (given.words if several else [" ".join(given.words)])]


def _model(given: Given, state: RunState) -> list[Command]:
    del state
    return [SwitchModel(model=ModelSpec(name=_named(given)[0], api_base=given.api_base))]


def _effort(given: Given, state: RunState) -> list[Command]:
    effort = effort_named(_named(given)[0])
    return [SwitchModel(model=msgspec.structs.replace(state.model, effort=effort))]


def _decide(verdict: GateVerdict) -> Callable[[Given, RunState], list[Command]]:
    return lambda given, state: [_decision(given, state, verdict)]


def _decision(given: Given, state: RunState, verdict: GateVerdict) -> Decide:
    from ..control.asked_proposal import chosen

    if len(given.words) > 1:
        raise UserError(f"{given.verb} needs a proposal's id and --digest, or only --digest")
    opened = chosen(state, "this run", given.verb, given.digest, given.words[0] if given.words else None)
    return Decide(proposal_id=opened.proposal_id, digest=opened.digest, verdict=verdict, reason=given.reason)


def _answer(given: Given, state: RunState) -> list[Command]:
    text = _said(given)
    if not state.questions:
        raise UserError("this run has no open question: use `queue` or `steer` to send a message")
    asked = next(iter(state.questions.values()))
    if text.isdecimal() and 1 <= int(text) <= len(asked.options):
        text = asked.options[int(text) - 1]
    return [Answer(question_id=asked.question_id, text=text)]


def _judge(given: Given, state: RunState) -> list[Command]:
    del state
    key, verdict = _named(given)
    if verdict not in ("confirmed", "refuted", "evidence"):
        raise UserError(f"judge {verdict!r}: use confirmed, refuted or evidence")
    return [Judge(key=key, verdict=verdict, reason=given.reason or "")]


def _merge(given: Given, state: RunState) -> list[Command]:
    del state
    key, into = _named(given)
    return [Merge(key=key, into=into)]


def _item(given: Given, state: RunState) -> list[Command]:
    del state
    kind, value = _named(given)
    if kind not in ("url", "file", "value"):
        raise UserError(f"item {kind!r}: use url, file or value")
    return [AddItem(kind=kind, value=value)]


def _undo(given: Given, state: RunState) -> list[Command]:
    del state
    match given.words:
        case []:
            return [Undo()]
        case [number] if number.isdecimal() and int(number) > 0:
            return [Undo(changes=int(number))]
        case ["step", number] if number.isdecimal():
            return [Undo(step=int(number))]
        case ["file", *paths] if paths:
            return [Undo(path=path, confirmed=[path]) for path in paths]
        case _:
            raise UserError(
                f"undo {' '.join(given.words)[:40]}: use `undo`, `undo 3`, `undo step 7` or `undo file PATH`"
            )


def _gate(given: Given, state: RunState) -> list[Command]:
    del state
    mode = gate_mode_named(_named(given)[0])
    return [SetGateMode(mode=mode, unsandboxed_ok=given.unsandboxed, settle=True)]


def _stage(given: Given, state: RunState) -> list[Command]:
    del state
    what = list(given.words)
    if what not in ([], ["apply"], ["drop"]):
        raise UserError(f"stage {' '.join(given.words)[:40]}: use `stage`, `stage apply --digest D` or `stage drop`")
    if (what == ["apply"]) != (given.digest is not None):
        raise UserError("stage apply needs --digest D, and nothing else takes it: `rundry apply RUN --json` prints it")
    return []


def _format(given: Given, state: RunState) -> list[Command]:
    del state
    return [SetEditFormat(format=format_named(_named(given)[0]))]


def _scope(given: Given, state: RunState) -> list[Command]:
    del state
    if not given.words:
        raise UserError("scope takes GLOB...: name the files that may change, such as docs/**")
    return [AddScope(globs=list(given.words))]


VERBS: Mapping[str, Verb] = {
    "pause": Verb("[now]", "pause after this step, or immediately; --now is the same", _typed),
    "unpause": Verb("", "resume; `resume` is the same", _plain(lambda _: Unpause())),
    "resume": Verb("", "resume after a pause or a hand-off", _plain(lambda _: Unpause())),
    "step": Verb("", "run one step, then pause", _typed),
    "steer": Verb(
        "TEXT", "send a message immediately; interrupts the step", _text(lambda text: Steer(text=text)), after_end=True
    ),
    "queue": Verb("TEXT", "send a message after this step", _text(lambda text: Say(text=text)), after_end=True),
    QUEUED: Verb("", "list queued messages with their numbers", _nothing, after_end=True),
    "withdraw": Verb("[NUMBER | TEXT]", "withdraw a queued message; default: the newest", _withdraw, after_end=True),
    "interrupt": Verb("", "interrupt the running call or tool", _typed),
    "stop": Verb("[now | NAME]", "stop with a wrap-up, or immediately, or a background command", _typed),
    "compact": Verb("[undo]", "replace older messages by a summary; or revert that", _typed),
    "clear": Verb("", "start a new conversation; `compact undo` reverts it", _typed),
    "limit": Verb(
        "NAME=VALUE... | NAME VALUE",
        "change a limit: steps, usd, window, run_command=30/min, ...",
        _limits,
        after_end=True,
    ),
    "model": Verb("NAME", "switch the model from the next call on", _model, after_end=True),
    "effort": Verb("HOW", "set the effort: none, minimal, low, medium, high or xhigh", _effort, after_end=True),
    "approve": Verb(
        "--digest D",
        "approve the waiting proposal; without --digest, a terminal asks",
        _decide("approve"),
        after_end=True,
    ),
    "reject": Verb("--digest D", "reject it; the model reads --reason TEXT", _decide("reject"), after_end=True),
    "answer": Verb("TEXT", "answer the model's question; a number selects an option", _answer),
    "wake": Verb("", "wake a run that sleeps or waits", _typed),
    "judge": Verb("KEY VERDICT", "set a finding's verdict: confirmed, refuted or evidence", _judge, after_end=True),
    "merge": Verb("KEY INTO", "merge two findings", _merge, after_end=True),
    "skip": Verb("KEY", "skip an item of a search", lambda given, _: [SkipItem(key=_named(given)[0])], after_end=True),
    "item": Verb("KIND VALUE", "add an item to a search: url, file or value", _item, after_end=True),
    "lens": Verb(
        "NAME PROMPT",
        "add a lens to a search",
        lambda given, _: [AddLens(name=_named(given)[0], prompt=_named(given)[1])],
        after_end=True,
    ),
    "undo": Verb(
        "[N | step N | file PATH...]", "undo changes: the last N, since a step, or of files", _undo, after_end=True
    ),
    "gate": Verb("MODE", "set the gate mode: read, ask, effects, edits or auto", _gate, after_end=True),
    STAGE: Verb(
        "[apply --digest D | drop]",
        "list what an ended or waiting run staged; apply it, as `rundry apply` does; or delete it",
        _stage,
        after_end=True,
    ),
    "format": Verb("NAME", "set the edit format: auto, tools, functions, whole, blocks or constrained", _format),
    "scope": Verb("GLOB...", "let the run change these files, too", _scope),
    "deny": Verb(
        "path:GLOB | command:WORDS | host:HOST", "deny from now on, for every tool and command", _typed, after_end=True
    ),
}
"""All verbs, in the order of the help."""
