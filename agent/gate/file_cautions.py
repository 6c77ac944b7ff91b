"""Find why a change of an existing file has effects that its path does not show (docs/attacks.md (e))."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..layers.classes import EXECUTABLE
from ..system.real_paths import real_path

if TYPE_CHECKING:
    from ..workspace.paths import Workspace
    from .draft import FileDraft

_MAY_RUN = 0o111


def file_cautions(draft: FileDraft, ws: Workspace, *, is_named: bool) -> list[str]:
    """Return what the person should know: hard links, an executable file, or a link that leads to it.

    `is_named`: the user let the run change this file with `--scope`, and knows that it is executable.
    """
    if draft.landed is not None:
        return []  # the command already changed it: the person decides on its content only
    before = draft.before
    why: list[str] = []
    if before.links > 1:
        why.append(f"it is a hard link: the change also reaches its {_others(before.links)} elsewhere")
    if before.exists and before.mode & _MAY_RUN and not is_named:
        why.append(EXECUTABLE)
    link = _link_in_path(before.path, ws)
    if link is not None:
        why.append(f"the link {link} leads to it")
    return why


def _others(links: int) -> str:
    return "other name" if links == 2 else f"{links - 1} other names"


def _link_in_path(given: Path, ws: Workspace) -> str | None:
    """Return the first link in the path to the file below the workspace, as the model spelled it."""
    whole = ws.at(given)
    inside = next((above for above in reversed(whole.parents) if real_path(above) == ws.root), None)
    if inside is None:
        return str(given)  # a link outside the workspace leads into one of its folders
    at = inside
    for part in whole.relative_to(inside).parts:
        at = at.parent if part == ".." else at / part
        if at.is_symlink():
            return at.relative_to(inside).as_posix() if at.is_relative_to(inside) else str(at)
    return None
