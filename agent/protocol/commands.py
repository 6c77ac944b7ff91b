"""Commands that a person sends to a run. Any view writes them to the journal's inbox; only the runner executes them."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import msgspec

from .effects import EntryChoice
from .events.base import snake
from .events.person import PERSON
from .messages import ImageRef
from .spec import EditFormat, GateMode, ModelSpec, Rule

ConflictVerdict = Literal[
    "again",  # the model reads the file and repeats its change
    "mine",  # the file on disk stays as it is, and the model is informed
]
"""A decision that only a proposal in conflict takes."""
GateVerdict = Literal["approve", "reject", "part", ConflictVerdict]
StopHow = Literal["wrap_up", "now"]
JudgeVerdict = Literal["confirmed", "refuted", "evidence"]
"""A person's verdict on a finding; `evidence`: look for more evidence, then judge the finding again."""


class _Command(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag=snake):
    by: str = PERSON
    """The sender: `person`, or a client (`mcp:NAME`, `python:NAME`), which can only send `OF_CLIENTS`."""


class Say(_Command, frozen=True, kw_only=True):
    """Send a message. While a step runs, it waits in the queue until the step ends."""

    text: str
    images: list[ImageRef] = []
    """Attached images; the view has already stored their content in the journal."""


class Steer(_Command, frozen=True, kw_only=True):
    """Send a message that interrupts the step, so that the model receives it immediately."""

    text: str
    images: list[ImageRef] = []
    """Attached images, as in `Say`."""


class EditQueued(_Command, frozen=True, kw_only=True):
    queued_id: int
    """Id of the `Say` command that queued the message."""
    text: str
    images: list[ImageRef] = []
    """Attached images, as in `Say`; they replace the earlier ones."""


class Unqueue(_Command, frozen=True, kw_only=True):
    queued_id: int


class Decide(_Command, frozen=True, kw_only=True):
    """Decide on a proposal at the gate."""

    proposal_id: str
    digest: str
    """Digest of the proposal that was shown to the person; the runner refuses any other digest."""
    verdict: GateVerdict
    hunks: list[int] | None = None
    """With `part`: the indexes of the accepted hunks."""
    hunk_reasons: dict[int, str] = {}
    """Why a hunk was skipped, by its index."""
    cuts: dict[int, list[int]] = {}
    """Index of a hunk to the rows at which its parts begin, without row 0. `hunks` and `hunk_reasons` then count the
    parts of all hunks. A row is a removed line with the added line in its place, or one of them alone."""
    entries: dict[int, EntryChoice] = {}
    """With `part`, on what a command would change: the entries that are not accepted as proposed, by their index."""
    text: str | None = None
    """The new text as edited by the person, instead of the proposed text."""
    reason: str | None = None
    always: bool = False
    """Also add the rules that the proposal suggests."""
    session: bool = False
    """Also allow the same for the rest of this run: the command's words, or edits of the path. `RemoveRule` ends it."""
    prefix: bool = False
    """With `always` or `session`: the rules in `prefixes` of the proposal, instead of those in `rules`."""
    channel: str = ""
    """The program through which it was decided, such as `acp:zed` or `device:phone`. Empty means a view of rundry or
    its command line."""


class Answer(_Command, frozen=True, kw_only=True):
    """Answer a question that the model asked with `ask_person`."""

    question_id: str
    text: str


class Pause(_Command, frozen=True, kw_only=True):
    now: bool = False
    """Also interrupt the current step."""


class Unpause(_Command, frozen=True, kw_only=True):
    pass


class StepOnce(_Command, frozen=True, kw_only=True):
    """Run one step, then pause."""


class Interrupt(_Command, frozen=True, kw_only=True):
    """Interrupt the current model call or tool; output that already arrived is kept."""


class Stop(_Command, frozen=True, kw_only=True):
    how: StopHow = "wrap_up"


class SetLimit(_Command, frozen=True, kw_only=True):
    name: str
    """`steps`, `tokens`, `usd`, `seconds` or `deadline`; a name of `LIMITS`; or a tool, for its quota."""
    value: float | str | None
    """The new value. A text is the rate of a tool: `30/min`. None means no limit."""


class SwitchModel(_Command, frozen=True, kw_only=True):
    model: ModelSpec
    ask_above: float | None = None
    """USD. If reading the conversation again costs more, or an unknown amount, report the cost instead of switching."""


class SetGateMode(_Command, frozen=True, kw_only=True):
    mode: GateMode
    unsandboxed_ok: bool = False
    settle: bool = False
    """Also decide the proposals that wait and need no person in this mode. A key that cycles the modes does not."""
    channel: str = ""
    """As in `Decide`."""


class SetEditFormat(_Command, frozen=True, kw_only=True):
    """Choose how the model edits files, from its next answer on; `auto`: the program chooses."""

    format: EditFormat


class AddRule(_Command, frozen=True, kw_only=True):
    """Add a rule to the gate for the rest of the run, also after a resume. Only rules that deny can be added."""

    rule: Rule


class RemoveRule(_Command, frozen=True, kw_only=True):
    """Remove a rule that allows something and was added to the run by `Decide.session`."""

    rule: Rule


class AddScope(_Command, frozen=True, kw_only=True):
    """Let the run change more files, from now on and also after a resume."""

    globs: list[str]
    """As in a .gitignore."""


class TakeWheel(_Command, frozen=True, kw_only=True):
    """Take control: the loop pauses, the current work is interrupted, and the person acts."""


class GiveWheel(_Command, frozen=True, kw_only=True):
    """Return control to the model, which receives `note` and a summary of what the person did."""

    note: str = ""


class Act(_Command, frozen=True, kw_only=True):
    """Run one of the model's tools for the person who is in control."""

    tool: str
    """`run_command`, `write_file`, `finish`, ..."""
    arguments: dict[str, Any]
    expects: str | None = None
    """For a change: hex SHA-256 of the file that it is based on. It is refused if the file has changed since."""


class StopCommand(_Command, frozen=True, kw_only=True):
    """Stop a command that runs in the background."""

    name: str


class Shell(_Command, frozen=True, kw_only=True):
    """Run a command of the person's own."""

    command: str
    tell: bool = True
    """Send the command's output to the model."""


class Wake(_Command, frozen=True, kw_only=True):
    pass


class Judge(_Command, frozen=True, kw_only=True):
    key: str
    verdict: JudgeVerdict
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
    """Undo the newest changes that are not undone yet; with `step`, all changes since that step began."""

    changes: int = 1
    step: int | None = None
    path: str | None = None
    """Instead: undo all changes of this file, and of no other. Relative to the workspace."""
    confirmed: list[str] = []
    """Files that a person confirmed by name. Others that a command changed stay: the user may have changed them."""


class Rewind(_Command, frozen=True, kw_only=True):
    seq: int
    """Rewind to the state before this event."""


class Compact(_Command, frozen=True, kw_only=True):
    """Replace the old rounds of the conversation with a summary."""

    undo: bool = False
    """Instead: undo the newest cut of the conversation."""


class Clear(_Command, frozen=True, kw_only=True):
    """Start a new conversation; the journal keeps the old one."""


class Park(_Command, frozen=True, kw_only=True):
    """Let the runner exit while the run waits for a person or has ended; the next runner continues it."""


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
    | SetEditFormat
    | AddRule
    | RemoveRule
    | AddScope
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
    | Park
)

OF_CLIENTS = (Say, Decide, Answer, Pause, Unpause, Stop)
"""The commands that an MCP client can send. All others need a person."""

_encoder = msgspec.json.Encoder()


def command_type(command: Command) -> str:
    """Return the command's name on the wire, such as `set_limit`."""
    return str(command.__struct_config__.tag)


def encode_command(command: Command) -> bytes:
    return _encoder.encode(command)


@cache
def _decoder() -> msgspec.json.Decoder[Command]:
    return msgspec.json.Decoder(Command)


def decode_command(raw: bytes) -> Command:
    """Decode a command. Raises msgspec.ValidationError for a command that this version does not know."""
    return _decoder().decode(raw)
