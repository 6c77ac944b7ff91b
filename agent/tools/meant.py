"""Replace the path of a call by the path of the file that the model means, before any rule or the gate sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import msgspec

from ..protocol.tools.traits import TOOL_TRAITS
from ..workspace.given_paths import meant_path

if TYPE_CHECKING:
    from ..workspace.paths import Workspace
    from .parse import Parsed


def with_meant_path(tool: str, parsed: Parsed, workspace: Workspace) -> Parsed:
    """Return the call with the path that is meant, also in the arguments that are recorded and shown."""
    traits = TOOL_TRAITS.get(tool)
    field = None if traits is None else traits.path
    given = None if field is None or parsed.arguments is None else getattr(parsed.arguments, field, None)
    if traits is None or field is None or parsed.arguments is None or not isinstance(given, str):
        return parsed
    path = meant_path(workspace, given, is_new=tool == "write_file")
    if path == given:
        return parsed
    raw = parsed.raw
    if isinstance(raw, dict):
        raw = {name: path if value == given else value for name, value in cast("dict[str, Any]", raw).items()}
    return msgspec.structs.replace(
        parsed, arguments=msgspec.structs.replace(parsed.arguments, **{field: path}), raw=raw
    )
