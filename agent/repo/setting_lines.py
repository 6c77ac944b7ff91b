"""Read a config file of git without git, and tell the settings that neither run a program nor name what runs."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
_SECTION = re.compile(r'\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_KEY = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=|$|[#;])")


def setting_lines(text: str) -> Iterator[tuple[str | None, str]]:
    """Yield key (`section.subsection.name`) and text of each line that sets something.

    The key is None if it is not a plain one.
    """
    section = ""
    for line in text.splitlines():
        heading = _SECTION.match(line)
        if heading is not None:
            section = heading[1] + ("." + heading[2] if heading[2] is not None else "")
            line = line[heading.end() :]
        stripped = line.strip()
        if stripped and stripped[0] not in "#;":
            key = _KEY.match(line)
            yield f"{section}.{key[1]}" if key else None, stripped


def is_harmless(key: str, value: str) -> bool:
    """Return whether a setting (`section.subsection.name`) with this value runs nothing."""
    return _HARMLESS.fullmatch(key) is not None and _RUNS.search(f"={value}") is None
