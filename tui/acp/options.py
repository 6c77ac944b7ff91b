"""What an editor can choose in a session: the mode of the gate, the model, the effort."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acp.schema import (
    AvailableCommand,
    AvailableCommandInput,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
    UnstructuredCommandInput,
)

from rundry.agent import EFFORTS, GateMode, ViewState

from ..actions import Action, slash_commands
from ..text import one_line

_MODES: Mapping[GateMode, str] = {
    GateMode.READ: "The model only reads: edits and commands are refused.",
    GateMode.ASK: "Edits, and commands that no rule allows, wait for your approval.",
    GateMode.EDITS: "Edits in the workspace are allowed; commands that no rule allows wait.",
    GateMode.AUTO: "Edits and sandboxed commands are allowed. Guarded files and protected paths still wait.",
}
COMMANDS = (
    "limit", "model", "effort", "gate", "undo", "compact", "clear", "rewind", "resume", "pause", "wake", "stop",
    "handoff", "spend", "find", "until", "deny", "queue",
)  # fmt: skip
"""Actions whose slash command works in an editor."""
DEFAULT_EFFORT = "default"


def modes_of(mode: GateMode) -> SessionModeState:
    """Return the modes of the gate, with the present one."""
    available = [SessionMode(id=each.value, name=each.value, description=about) for each, about in _MODES.items()]
    return SessionModeState(current_mode_id=mode.value, available_modes=available)


def config_options(state: ViewState, mode: GateMode, models: Sequence[str]) -> list[SessionConfigOptionSelect]:
    """Return the options that newer editors show in place of the modes. `models`: names to offer."""
    gate = [SessionConfigSelectOption(value=each.value, name=each.value, description=a) for each, a in _MODES.items()]
    names = [state.model, *(name for name in models if name != state.model)] if state.model else list(models)
    model = [SessionConfigSelectOption(value=name, name=one_line(name)) for name in names]
    effort = [SessionConfigSelectOption(value=each, name=each) for each in (DEFAULT_EFFORT, *EFFORTS)]
    return [
        SessionConfigOptionSelect(
            id="gate", name="Gate", type="select", category="mode", current_value=mode.value, options=gate,
            description="What the gate allows without asking you",
        ),
        SessionConfigOptionSelect(
            id="model", name="Model", type="select", category="model", current_value=state.model, options=model
        ),
        SessionConfigOptionSelect(
            id="effort", name="Effort", type="select", category="thought_level",
            current_value=state.effort or DEFAULT_EFFORT, options=effort,
        ),
    ]  # fmt: skip


def commands() -> list[AvailableCommand]:
    """Return the slash commands that work in a prompt."""
    return [_command(action) for action in slash_commands() if action.name in COMMANDS]


def _command(action: Action) -> AvailableCommand:
    about = f"{action.label}: {action.detail}" if action.detail and "{" not in action.detail else action.label
    takes = AvailableCommandInput(UnstructuredCommandInput(hint=action.takes)) if action.takes else None
    return AvailableCommand(name=action.slash.replace("_", "-"), description=about, input=takes)
