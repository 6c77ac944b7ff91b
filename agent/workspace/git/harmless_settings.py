"""The settings of git that neither run a program nor name a file that decides what runs."""

from __future__ import annotations

import re

_HARMLESS = re.compile(
    r"""core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol
    |safecrlf|quotepath|abbrev|untrackedcache)|remote\..*\.(url|pushurl|fetch|tagopt|prune)|branch\..*\.(remote|merge
    |rebase|pushremote)|user\.(name|email)|init\.defaultbranch|submodule\..*\.(url|active|update)|color\..*|pull\.(rebase
    |ff)|push\.(default|autosetupremote|followtags)|fetch\.prune|merge\.(ff|conflictstyle)|rerere\.enabled
    |extensions\.(objectformat|worktreeconfig|partialclone)|gc\.auto|maintenance\.(auto|strategy)|advice\..*""",
    re.VERBOSE | re.IGNORECASE,
)
_RUNS = re.compile(r"ext::|=\s*\"?!")
"""Values that are commands, in an otherwise harmless key (`submodule.x.update = !command`)."""


def is_harmless(key: str, value: str) -> bool:
    """Return whether a setting (`section.subsection.name`) with this value runs nothing."""
    return _HARMLESS.fullmatch(key) is not None and _RUNS.search(f"={value}") is None
