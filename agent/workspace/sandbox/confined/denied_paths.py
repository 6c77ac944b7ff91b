"""Find the workspace paths that `deny` rules match, so that the sandbox can hide them from every program."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ....protocol import Rule

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
    if not globs:
        return []
    from pathspec import GitIgnoreSpec  # ~20 ms

    spec = GitIgnoreSpec.from_lines(globs)
    outside = [glob for glob in globs if glob.startswith("/") and os.path.lexists(glob)]
    return [*outside, *_matches(spec, root)]


def _matches(spec: object, root: Path) -> Iterator[str]:
    from pathspec import GitIgnoreSpec

    assert isinstance(spec, GitIgnoreSpec)
    waiting = [""]
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
