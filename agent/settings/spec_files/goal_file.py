"""Read a spec file that describes a goal run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from ...protocol import FilledFile
from ...protocol.tools.traits import TOOL_TRAITS
from ..default_limits import did_you_mean
from ..trusted_choices import FileTrust, choices_of
from .filling import fill
from .goal_tables import GoalFile
from .option_tables import refuse_server, shared_options
from .problems import SpecProblem
from .read_spec import SpecText

_SAME = (
    "until",
    "until_file",
    "until_py",
    "schema",
    "require",
    "any",
    "guard",
    "scope",
    "confirm",
    "confirm_with",
    "setup",
    "holdout",
    "holdout_files",
    "tries",
)
"""Keys that are options with the same name."""
_CHOSEN = ("verify", "on_stall")


class GoalRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A goal run as a file describes it, with the options that a flag can still override."""

    task: str
    options: dict[str, object]
    tools: list[str]
    """The only tools that the model gets. Empty means all."""
    source: FilledFile
    is_own: bool = True
    """The file is in the user's config folder."""
    choices: list[str] = []
    """Keys of the file that choose what runs or where data goes."""


def read_goal(
    path: Path,
    given: Mapping[str, str],
    *,
    workspace: Path,
    data: bytes | None = None,
    of_project: bool = False,
    word: str | None = None,
    trust: FileTrust | None = None,
) -> GoalRequest:
    """Read the goal run in that file. Raises UserError: one line with the file, the line, the key and the fix.

    `given`: values of parameters, by name. `workspace`: where their paths start. `data`: the content of the file, if it
    was read already. `of_project`: it must not name a server, because a key could be sent there. `word`: how the user
    named the file, for messages. `trust`: raises NotTrusted for a file that chooses more than it may. None means that
    the caller does not run it.
    """
    spec = SpecText(path, data)
    with spec.located():
        spec.require("goal", word)
        wanted = goal_of(spec, given, workspace)
        if of_project:
            refuse_server(wanted.options)
    if trust is not None:
        trust.require(path, wanted.choices)
    return wanted


def goal_of(spec: SpecText, given: Mapping[str, str] | None, workspace: Path) -> GoalRequest:
    """Return the goal run of a file. `given`: None for examples, to check the file. Raises UserError."""
    file, values = fill(spec, GoalFile, given, workspace)
    for at, tool in enumerate(file.tools):
        if tool not in TOOL_TRAITS:
            raise SpecProblem(f"tools: there is no tool {tool!r}: {did_you_mean(tool, TOOL_TRAITS)}", ("tools", at))
    options = shared_options(file.model, file.budget, file.quota)
    options |= {name: value for name in _SAME if (value := getattr(file, name)) not in (None, False, [])}
    options |= {name: str(value) for name in _CHOSEN if (value := getattr(file, name)) is not None}
    if file.gate.mode is not None:
        options["gate"] = file.gate.mode.value
    if file.gate.on_ask is not None:
        options["on_ask"] = file.gate.on_ask
    source = FilledFile(path=str(spec.path), values=dict(values))
    return GoalRequest(
        task=file.task.strip(),
        options={**options, "loop": "goal"},
        tools=file.tools,
        source=source,
        choices=choices_of(file),
    )
