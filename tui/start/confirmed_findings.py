"""The findings of a run as rows, for each format."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rundry.agent import (
    ChildStarted,
    ItemDuplicate,
    UserError,
    ViewState,
    cited_line,
    exported,
    path_in,
    reduce,
)

if TYPE_CHECKING:
    from rundry.agent import (
        FinderFacts,
        Finding,
        Journal,
    )

FindingState = Literal["confirmed", "unverified", "open", "refuted", "duplicate"]
"""`unverified`: reported without a verifier. `open`: nobody has judged it yet."""
ORDER: tuple[FindingState, ...] = ("confirmed", "unverified", "open", "refuted", "duplicate")
_MOST_PAGES = 1_000
"""Number of pages that are listed for one dead link."""


@dataclass(frozen=True, slots=True)
class FoundRow:
    """One finding with its state, its place and its stable fingerprint."""

    finding: Finding
    state: FindingState
    file: str
    """Relative to the workspace if it is inside, or empty if the evidence cites no line."""
    line: int | None
    last_line: int | None
    linked_from: tuple[str, ...]
    """Pages that link to a dead link."""
    fingerprint: str

    @property
    def verdict(self) -> str:
        """The verdict and its author, in a few words."""
        finding = self.finding
        match self.state:
            case "open":
                return "no verdict yet" if finding.wants_evidence is None else "sent back for evidence"
            case "unverified":
                return "reported without a verifier"
            case "duplicate":
                return f"the same as {finding.duplicate_of}"
            case "confirmed" | "refuted" if finding.by == "none":
                return "; ".join(finding.reasons)
            case _ if finding.by == "person":
                return f"{self.state} by a person"
            case _:
                return f"{finding.stands} of {len(finding.votes)} verifiers could not refute it"


@dataclass(frozen=True, slots=True)
class Findings:
    """A search with its findings: those confirmed first, else in the order in which they were reported."""

    state: ViewState
    facts: FinderFacts
    began: float
    """Unix time at which the run began."""
    rows: list[FoundRow]

    def count(self, state: FindingState) -> int:
        """Return the number of findings in this state."""
        return sum(row.state == state for row in self.rows)


def findings_of(journal: Journal) -> Findings:
    """Read the findings of a run, with keys hidden. Raises UserError if the run is not a search, or JournalError."""
    state = ViewState()
    for stamped in exported(journal):
        reduce(state, stamped)
    if state.finder is None:
        raise UserError(f"run {state.run_id} is not a search: {_where_findings_are(journal)}")
    pages = _linking_pages(journal, state.finder)
    rows = [
        found_row(finding, state.workspace, pages.get(finding.key, ())) for finding in state.finder.findings.values()
    ]
    rows.sort(key=lambda row: ORDER.index(row.state))
    return Findings(state, state.finder, float(journal.meta("created") or 0), rows)


def _where_findings_are(journal: Journal) -> str:
    """Return which searches among the child runs of a run have findings, the newest first."""
    started = [stamped.event for stamped in journal.read_types((ChildStarted,))]
    searches = [each.run_id for each in started if isinstance(each, ChildStarted) and each.loop.traits.has_search]
    if not searches:
        return "it has no findings to export"
    names = ", ".join(dict.fromkeys(reversed(searches)))
    return f"its findings are those of its searches, export one of them: {names}"


def state_of(finding: Finding) -> FindingState:
    """Return the state of a finding in one word."""
    if finding.duplicate_of is not None:
        return "duplicate"
    if finding.verdict is None:
        return "open"
    return "unverified" if finding.verdict == "confirmed" and finding.by == "none" else finding.verdict


def fingerprint(key: str, workspace: str) -> str:
    """Return a hash of the finding's key that is the same in each checkout of the project."""
    portable = key.removeprefix(workspace.rstrip(os.sep) + os.sep) if workspace else key
    return hashlib.sha256(portable.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def place_of(finding: Finding, workspace: str) -> str:
    """Return where a finding is, as `src/app.py:14`; its evidence if that cites no line."""
    cited = cited_line(finding.evidence)
    if cited is None:
        return finding.evidence or _relative_start(finding.place, workspace)
    return f"{path_in(cited.path, workspace)}:{cited.line}"


def _relative_start(place: str, workspace: str) -> str:
    return place.removeprefix(workspace.rstrip(os.sep) + os.sep) if workspace else place


def found_row(finding: Finding, workspace: str, pages: Sequence[str] = ()) -> FoundRow:
    """Return the row of a finding. `pages`: those that link to it."""
    cited = cited_line(finding.evidence)
    return FoundRow(
        finding,
        state_of(finding),
        path_in(cited.path, workspace) if cited is not None else "",
        cited.line if cited is not None else None,
        cited.last if cited is not None else None,
        tuple(pages),
        fingerprint(finding.key, workspace),
    )


def _linking_pages(journal: Journal, facts: FinderFacts) -> dict[str, list[str]]:
    """Return the pages that link to each dead link, in the order in which they were read."""
    dead = {finding.source: finding for finding in facts.findings.values() if finding.is_dead_link}
    found = {finding.key: [finding.evidence] if finding.evidence else [] for finding in dead.values()}
    if not dead:
        return found
    for event in _duplicates(journal):
        finding = dead.get(event.key)
        if finding is None or "://" not in event.source:
            continue
        pages = found[finding.key]
        if len(pages) < _MOST_PAGES and event.source not in pages:
            pages.append(event.source)
    return found


def _duplicates(journal: Journal) -> Iterable[ItemDuplicate]:
    return (stamped.event for stamped in exported(journal) if isinstance(stamped.event, ItemDuplicate))


def below_workspace(name: str, workspace: str) -> str:
    """Return a key, or a name with a key in it, with paths relative to the workspace: the file leaves this machine."""
    return name.replace(workspace.rstrip("/") + "/", "") if workspace else name
