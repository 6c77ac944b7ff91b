"""The part of a search's facts that says what its lenses read."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...protocol import Coverage, LensCoverage, ReadsPlaced, ScopeCounted, Stamped, ToolCalled, ToolFinished
from .findings import FindingFacts
from .reads import add_range, count_lines, coverage, in_scope, lens_of, lines_shown, path_called


@dataclass(slots=True)
class ReadingFacts(FindingFacts):
    """Its size grows with the files that were read, not with how often."""

    scope: ScopeCounted | None = None
    """The files that lenses may read; None: they were not counted."""
    placed: dict[str, str] = field(default_factory=dict[str, str])
    """Path as a lens named it to the file in scope that it means; empty: none."""
    open_reads: dict[str, ToolCalled] = field(default_factory=dict[str, ToolCalled])
    """Reads of lenses without a result so far."""

    def coverage(self) -> Coverage:
        """What the lenses read of the files in scope."""
        return coverage({lens.name: lens.reads for lens in self.lenses.values()}, self.placed, self.scope)

    def read_by(self, lens: str) -> LensCoverage:
        """What one lens read of the files in scope."""
        found = in_scope(self.lenses[lens].reads, self.placed)
        return LensCoverage(lens, len(found), sum(map(count_lines, found.values())))

    def read(self, stamped: Stamped, event: ToolCalled | ToolFinished | ScopeCounted | ReadsPlaced) -> None:
        """A lens reads, or the files that it may read were counted."""
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
