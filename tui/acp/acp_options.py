"""What an editor can choose in a session: the mode of the gate, the model, the effort, slash commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from acp.schema import (
    AvailableCommand,
    AvailableCommandInput,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
    UnstructuredCommandInput,
)

from rundry.agent import EFFORTS, GateMode, ModelSpec, ResumeChanges, SetGateMode

from ..keys.lookup import slash_commands
from ..text.show_text import one_line

if TYPE_CHECKING:
    from ..control.run_controller import RunController
    from ..keys.action import Action

_MODES: Mapping[GateMode, str] = {
    GateMode.READ: "The model only reads: edits and commands are refused.",
    GateMode.ASK: "Edits, and commands that no rule allows, wait for your approval.",
    GateMode.EFFECTS: "Edits wait. Commands start immediately, and what they would change waits for your approval.",
    GateMode.EDITS: "Edits in the workspace are allowed; commands that no rule allows wait.",
    GateMode.AUTO: "Edits and sandboxed commands are allowed. Guarded files and protected paths still wait.",
    GateMode.STAGE: "Edits and sandboxed commands are allowed, and the workspace stays as it is until you apply them.",
}
COMMANDS = (
    "limit", "model", "effort", "gate", "undo", "compact", "clear", "rewind", "resume", "pause", "wake", "stop",
    "handoff", "spend", "find", "until", "scope", "deny", "queue", "format",
)  # fmt: skip
"""Actions whose slash command works in an editor."""
SKILL = "skill"
"""The action whose message is the text of a skill."""
DEFAULT_EFFORT = "default"


class Choices:
    """What is chosen in one session. A choice for a run without a runner holds from the next prompt on."""

    def __init__(self, controller: RunController, channel: str) -> None:
        """`channel`: the editor, as its choices are recorded."""
        self._controller, self._channel = controller, channel
        self.models: dict[str, ModelSpec] = {}
        """Models that were found, by name, which the editor offers."""
        self._wanted = ResumeChanges()

    @property
    def gate(self) -> GateMode:
        """The mode of the gate."""
        return self._wanted.gate or self._controller.state.gate_mode

    def options(self) -> list[SessionConfigOptionSelect]:
        """Return what the editor can choose, with the present values."""
        state, wanted = self._controller.state, self._wanted.model
        model, effort = (state.model, state.effort) if wanted is None else (wanted.name, wanted.effort or "")
        return config_options(self.gate, model, effort, list(self.models))

    def take_wanted(self) -> ResumeChanges:
        """Return what was chosen while the run had no runner, and forget it."""
        wanted, self._wanted = self._wanted, ResumeChanges()
        return wanted

    def set_gate(self, mode: GateMode) -> None:
        """Set the mode of the gate, as the person chose it in the editor. Raises RundryError."""
        if self._controller.status.is_orphaned:
            self._wanted = msgspec.structs.replace(self._wanted, gate=mode, channel=self._channel)
        elif self._controller.begun:
            self._controller.put(SetGateMode(mode=mode, settle=True, channel=self._channel))
        else:
            self._controller.set_gate(mode)

    def choose_model(self, name: str) -> None:
        """Use another model from the next call on. Raises RundryError."""
        self._switch(self.models.get(name) or self._controller.reader.model_named(name))

    def choose_effort(self, effort: str) -> None:
        """Set how much the model reasons; `default` is the provider's own choice. Raises RundryError."""
        model = self._controller.reader.with_effort(effort)
        self._switch(model if effort in EFFORTS else msgspec.structs.replace(model, effort=None))

    def _switch(self, model: ModelSpec) -> None:
        if self._controller.status.is_orphaned:
            self._wanted = msgspec.structs.replace(self._wanted, model=model)
        else:
            self._controller.switch_model(model, asks=False)


def modes_of(mode: GateMode) -> SessionModeState:
    """Return the modes of the gate, with the present one."""
    available = [SessionMode(id=each.value, name=each.value, description=about) for each, about in _MODES.items()]
    return SessionModeState(current_mode_id=mode.value, available_modes=available)


def config_options(mode: GateMode, chosen: str, level: str, models: Sequence[str]) -> list[SessionConfigOptionSelect]:
    """Return the options that newer editors show in place of the modes.

    `chosen`: the model. `level`: its effort, or nothing. `models`: names to offer.
    """
    gate = [SessionConfigSelectOption(value=each.value, name=each.value, description=a) for each, a in _MODES.items()]
    names = [chosen, *(name for name in models if name != chosen)] if chosen else list(models)
    model = [SessionConfigSelectOption(value=name, name=one_line(name)) for name in names]
    effort = [SessionConfigSelectOption(value=each, name=each) for each in (DEFAULT_EFFORT, *EFFORTS)]
    return [
        SessionConfigOptionSelect(
            id="gate", name="Gate", type="select", category="mode", current_value=mode.value, options=gate,
            description="What the gate allows without asking you",
        ),
        SessionConfigOptionSelect(
            id="model", name="Model", type="select", category="model", current_value=chosen, options=model
        ),
        SessionConfigOptionSelect(
            id="effort", name="Effort", type="select", category="thought_level",
            current_value=level or DEFAULT_EFFORT, options=effort,
        ),
    ]  # fmt: skip


def commands(own: Sequence[tuple[str, str, str]]) -> list[AvailableCommand]:
    """Return the slash commands that work in a prompt. `own`: name, arguments and description of the user's own."""
    shown = [action for action in slash_commands() if action.name in (*COMMANDS, SKILL)]
    rest = [_available(one_line(name), one_line(about), one_line(takes)) for name, takes, about in own]
    return [*map(_command, shown), *rest]


def _command(action: Action) -> AvailableCommand:
    about = f"{action.label}: {action.detail}" if action.detail and "{" not in action.detail else action.label
    return _available(action.slash.replace("_", "-"), about, action.takes)


def _available(name: str, about: str, takes: str) -> AvailableCommand:
    hint = AvailableCommandInput(UnstructuredCommandInput(hint=takes)) if takes else None
    return AvailableCommand(name=name, description=about or name, input=hint)
