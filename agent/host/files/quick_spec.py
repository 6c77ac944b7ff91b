"""Patterns as in a `.gitignore`, which reject most paths with one search: pathspec tries each pattern in turn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import cast

from .git_patterns import git_spec

_NAMED = re.compile(r"\(\?P<\w+>")
_ANYWHERE = "^(?:.+/)?"
"""How pathspec begins a pattern that matches at any depth."""
_NOTHING = re.compile(r"(?!)")


class QuickSpec:
    """Decides as `pathspec.GitIgnoreSpec` does, for paths separated by `/`."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._spec = git_spec(lines)
        found = [cast("re.Pattern[str] | None", each.regex) for each in self._spec.patterns]  # pyright: ignore[reportUnknownMemberType]
        self._any = _any_of([each.pattern for each in found if each is not None])

    def match_file(self, path: str) -> bool:
        """Return whether the path matches."""
        return self._may_match(path) and self._spec.match_file(path)

    def verdict(self, path: str) -> bool | None:
        """Return what the last matching pattern says: True if it matches, False after `!`.

        Returns None if no pattern matches.
        """
        return self._spec.check_file(path).include if self._may_match(path) else None

    def _may_match(self, path: str) -> bool:
        # pathspec removes these beginnings first
        return self._any.search(path) is not None or path.startswith(("/", "./"))


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern that matches if one of these does."""
    if not patterns:
        return _NOTHING
    bare = [_NAMED.sub("(?:", pattern) for pattern in patterns]
    anywhere = [each.removeprefix(_ANYWHERE) for each in bare if each.startswith(_ANYWHERE)]
    others = [each for each in bare if not each.startswith(_ANYWHERE)]
    if anywhere:
        others.append(f"{_ANYWHERE}(?:{'|'.join(anywhere)})")
    return re.compile("|".join(others))
