"""The part of a search's state that records what its lenses read."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...protocol import Coverage, LensCoverage, ReadsPlaced, ScopeCounted, Stamped, ToolCalled, ToolFinished
from .findings import FindingFacts
from .reads import add_range, count_lines, coverage, in_scope, lens_of, lines_shown, path_called


@dataclass(slots=True)
class ReadingFacts(FindingFacts):
    """Files that lenses read. The size depends on the number of files, not on the number of reads."""

    scope: ScopeCounted | None = None
    """The files that lenses may read; None: they were not counted."""
    placed: dict[str, str] = field(default_factory=dict[str, str])
    """Path as a lens named it to the file in scope; empty: not in scope."""
    open_reads: dict[str, ToolCalled] = field(default_factory=dict[str, ToolCalled])
    """Calls of `read_file` that have no result so far."""

    def coverage(self) -> Coverage:
        """How much of the files in scope the lenses read."""
        return coverage({lens.name: lens.reads for lens in self.lenses.values()}, self.placed, self.scope)

    def read_by(self, lens: str) -> LensCoverage:
        """Return how much of the files in scope one lens read."""
        found = in_scope(self.lenses[lens].reads, self.placed)
        return LensCoverage(lens, len(found), sum(map(count_lines, found.values())))

    def read(self, stamped: Stamped, event: ToolCalled | ToolFinished | ScopeCounted | ReadsPlaced) -> None:
        """Record a read of a lens, or the count of the files in scope."""
        match event:
            case ToolCalled(call_id=call_id):
                if lens_of(stamped.work) in self.lenses and path_called(event) is not None:
                    self.open_reads[call_id] = event
            case ToolFinished(call_id=call_id, ok=ok):
                called, lens = self.open_reads.pop(call_id, None), self.lenses.get(lens_of(stamped.work) or "")
                if called is not None and lens is not None and ok:
                    ranges = lens.reads.setdefault(path_called(called) or "", [])
                    if (lines := lines_shown(called, event)) is not None:
                        add_range(ranges, *lines)
            case ScopeCounted():
                self.scope = event
            case ReadsPlaced(paths=paths):
                self.placed |= paths
