"""What a person asks of a run, put into the journal's inbox by any view, obeyed by the runner alone."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from .events.base import snake
from .messages import ImageRef
from .spec import GateMode, ModelSpec, Rule


class _Command(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag=snake):
    pass


class Say(_Command, frozen=True, kw_only=True):
    """A message; while a step runs it waits in the queue for the step's end."""

    text: str
    images: list[ImageRef] = []
    """The view has stored their bytes in the journal."""


class Steer(_Command, frozen=True, kw_only=True):
    """A message that interrupts the step: the model hears it at once."""

    text: str
    images: list[ImageRef] = []
    """As in `Say`."""


class EditQueued(_Command, frozen=True, kw_only=True):
    queued_id: int
    """The id of the `Say` command that put it there."""
    text: str
    images: list[ImageRef] = []
    """As in `Say`; they take the place of the earlier ones."""


class Unqueue(_Command, frozen=True, kw_only=True):
    queued_id: int


class Decide(_Command, frozen=True, kw_only=True):
    """The answer at the gate."""

    proposal_id: str
    digest: str
    """Of the proposal as it was painted; another digest is refused."""
    verdict: str
    """`approve`, `reject` or `part`; of a proposal in conflict also `again` (the model reads the file and makes the
    change anew) or `mine` (what stands on the disk stays, and the model is told so)."""
    hunks: list[int] | None = None
    """With `part`: the indexes that are taken."""
    hunk_reasons: dict[int, str] = {}
    """Why a hunk was left, by its index."""
    text: str | None = None
    """The new text as the person edited it, instead of the proposed one."""
    reason: str | None = None
    always: bool = False
    """Also add the rule that the proposal shows."""


class Answer(_Command, frozen=True, kw_only=True):
    """The answer to `ask_person`."""

    question_id: str
    text: str


class Pause(_Command, frozen=True, kw_only=True):
    now: bool = False
    """Also interrupt the step that runs."""


class Unpause(_Command, frozen=True, kw_only=True):
    pass


class StepOnce(_Command, frozen=True, kw_only=True):
    """Run one step, then pause."""


class Interrupt(_Command, frozen=True, kw_only=True):
    """End the call or the tool that runs; what arrived is kept."""


class Stop(_Command, frozen=True, kw_only=True):
    how: str = "wrap_up"
    """`wrap_up` or `now`."""


class SetLimit(_Command, frozen=True, kw_only=True):
    name: str
    """`steps`, `tokens`, `usd`, `seconds` or `deadline`; a name of `LIMITS`; or a tool, for its quota."""
    value: float | str | None
    """A text is the rate of a tool: `30/min`. None: no limit."""


class SwitchModel(_Command, frozen=True, kw_only=True):
    model: ModelSpec
    ask_above: float | None = None
    """USD: where reading the conversation anew costs more than this, or nobody knows what, that is only told."""


class SetGateMode(_Command, frozen=True, kw_only=True):
    mode: GateMode
    unsandboxed_ok: bool = False


class AddRule(_Command, frozen=True, kw_only=True):
    """One more rule of the gate, from now on and after a resume. Only a rule that denies can be added."""

    rule: Rule


class TakeWheel(_Command, frozen=True, kw_only=True):
    """The loop rests, after what runs was interrupted, and the person drives."""


class GiveWheel(_Command, frozen=True, kw_only=True):
    """The model drives again, and is told what was done and `note`."""

    note: str = ""


class Act(_Command, frozen=True, kw_only=True):
    """One of the model's tools, used by the person who has the wheel."""

    tool: str
    """`run_command`, `write_file`, `finish`, ..."""
    arguments: dict[str, Any]
    expects: str | None = None
    """Of a change: the hex SHA-256 of the file that it was made from; refused where it is another by now."""


class StopCommand(_Command, frozen=True, kw_only=True):
    """Ends a command that runs in the background."""

    name: str


class Shell(_Command, frozen=True, kw_only=True):
    """The person's own command."""

    command: str
    tell: bool = True
    """The model is told what it printed."""


class Wake(_Command, frozen=True, kw_only=True):
    pass


class Judge(_Command, frozen=True, kw_only=True):
    key: str
    verdict: str
    """`confirmed`, `refuted` or `evidence`."""
    reason: str = ""


class Merge(_Command, frozen=True, kw_only=True):
    key: str
    into: str


class AddItem(_Command, frozen=True, kw_only=True):
    kind: str
    value: str


class SkipItem(_Command, frozen=True, kw_only=True):
    key: str


class AddLens(_Command, frozen=True, kw_only=True):
    name: str
    prompt: str


class Undo(_Command, frozen=True, kw_only=True):
    """Takes back the newest changes that are not undone yet; with `step`, all since that step began."""

    changes: int = 1
    step: int | None = None


class Rewind(_Command, frozen=True, kw_only=True):
    seq: int
    """Back to before this event."""


class Compact(_Command, frozen=True, kw_only=True):
    """Replace the old rounds of the conversation by a summary."""

    undo: bool = False
    """Instead: take the newest cut back."""


class Clear(_Command, frozen=True, kw_only=True):
    """Start the conversation anew; the journal keeps the old one."""


Command = (
    Say
    | Steer
    | EditQueued
    | Unqueue
    | Decide
    | Answer
    | Pause
    | Unpause
    | StepOnce
    | Interrupt
    | Stop
    | SetLimit
    | SwitchModel
    | SetGateMode
    | AddRule
    | TakeWheel
    | GiveWheel
    | Act
    | StopCommand
    | Shell
    | Wake
    | Judge
    | Merge
    | AddItem
    | SkipItem
    | AddLens
    | Undo
    | Rewind
    | Compact
    | Clear
)

_encoder = msgspec.json.Encoder()


def command_type(command: Command) -> str:
    """Its name on the wire: `set_limit`."""
    return str(command.__struct_config__.tag)


def encode_command(command: Command) -> bytes:
    return _encoder.encode(command)


@cache
def _decoder() -> msgspec.json.Decoder[Command]:
    return msgspec.json.Decoder(Command)


def decode_command(raw: bytes) -> Command:
    """Raises msgspec.ValidationError for a command that this version does not know."""
    return _decoder().decode(raw)
