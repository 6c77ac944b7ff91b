"""Keep the scope of a run in its journal, and read it there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from ...journal.encoding import recorded_text
from ...protocol import Event, ScopeSet
from .scope import Scope

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from ...state.facts.verdicts import Verdicts


class _Events(Protocol):
    def record(self, event: Event) -> object: ...


def record_scope(
    journal: Journal, events: _Events, scope: Scope, *, in_copy: bool, no_views: str, added: Sequence[str] = ()
) -> None:
    """Store the scope, and record it. `in_copy`, `no_views`: as of the event. `added`: what a person added to it."""
    blob, by = journal.blobs.keep(msgspec.json.encode(scope)), "person" if added else "program"
    lines = scope.listing()
    events.record(
        ScopeSet(
            scope=blob,
            line=scope.line(),
            listing=lines,
            added=list(added),
            by=by,
            in_copy=in_copy,
            no_views=no_views,
        )
    )


def scope_of_run(verdicts: Verdicts, journal: Journal, root: Path) -> Scope | None:
    """Return the scope of a run, without the tests that its first checks printed, or None if it has none."""
    if verdicts.scope is None:
        return None
    outputs = "\n".join(verdicts.first_outputs.values())
    return _scope(journal.blobs.load(verdicts.scope.scope), outputs, root)


@lru_cache(maxsize=4)
def _scope(stored: bytes, outputs: str, root: Path) -> Scope:
    return msgspec.json.decode(stored, type=Scope).with_first_output(outputs, root)


def scope_option(path: str) -> str:
    """Return the option that adds exactly this file to a scope: `--scope /package.json`, `--scope tests/test_a.py`.

    A glob without a slash would hold at any depth.
    """
    glob = re.sub(r"([\\*?\[\]]| $)", r"\\\1", recorded_text(path))
    is_anchored = "/" in glob and not glob.startswith(("!", "#"))
    return f"--scope {shlex.quote(glob if is_anchored else f'/{glob}')}"
