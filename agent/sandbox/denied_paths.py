"""Find the workspace paths that `deny` rules and other globs match, so that the sandbox can hide them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..host.files.git_patterns import git_spec

if TYPE_CHECKING:
    from ..protocol import Rule

_RUN = "run_command"


def path_globs(rules: Sequence[Rule]) -> list[str]:
    """Return the globs, in `.gitignore` syntax, of the `deny` rules that apply to commands."""
    return [
        rule.path.lstrip("!")
        for rule in rules
        if rule.verdict == "deny" and rule.path is not None and rule.command is None and rule.tool in (None, _RUN)
    ]


def denied_paths(rules: Sequence[Rule], root: Path) -> list[str]:
    """Return the denied paths: the outermost ones below the folder, relative to it, and absolute paths elsewhere.

    The folder `.git` is left out, because git commands need it.
    """
    globs = path_globs(rules)
    outside = [glob for glob in globs if glob.startswith("/") and os.path.lexists(glob)]
    return [*outside, *_matches(globs, root)]


def held_out_paths(globs: Iterable[str], root: Path) -> list[str]:
    """Return the paths of a second check, which only that check can read, as `denied_paths` does.

    `a/**` stands for the folder itself, so that nothing can be written there.
    """
    return list(_matches([_whole_folder(glob) for glob in globs], root))


def _whole_folder(glob: str) -> str:
    folder = glob.removesuffix("/**")
    return f"/{folder.removeprefix('/')}/" if folder and folder != glob else glob


def _matches(globs: Sequence[str], root: Path) -> Iterator[str]:
    if not globs:
        return
    spec, waiting = git_spec(globs), [""]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(f"{root}/{folder}") as listing:
                entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in listing]
        except OSError:
            continue
        for name, is_folder in entries:
            if name == ".git":
                continue
            path = f"{folder}{name}"
            if spec.match_file(f"{path}/" if is_folder else path):
                yield path
            elif is_folder:
                waiting.append(f"{path}/")
