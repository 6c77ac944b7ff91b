"""Name the proposals that a headless run refused because nobody could approve them. Does not import textual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rundry.agent import GateMode, ProposalDecided, ProposalOpened, plural

from ..text import path_line

if TYPE_CHECKING:
    from rundry.agent import Event, RunSpec

_ALLOWS = "--gate edits allows edits, --gate auto also commands in the sandbox"
_MOST = 3
"""Number of files that the line names."""


def expected_refusals(spec: RunSpec) -> str | None:
    """Return the line that says before the run what will be refused; None: the gate's mode or a person decides."""
    acts = spec.changes_files or spec.has_children
    if spec.gate.mode is not GateMode.ASK or spec.gate.on_ask == "handoff" or not acts:
        return None
    return f"nobody can approve in a headless run: edits and commands that need approval are refused; {_ALLOWS}"


class Refused:
    """Counts what was refused because it needed a person's approval."""

    def __init__(self) -> None:
        self._asked: dict[str, ProposalOpened] = {}
        self._files: dict[str, int] = {}
        """Path to the number of refused edits, in the order of the first one."""
        self._others = 0

    def take(self, event: Event) -> None:
        """Count the next event of the run."""
        match event:
            case ProposalOpened() if event.asks:
                self._asked[event.proposal_id] = event
            case ProposalDecided():
                opened = self._asked.pop(event.proposal_id, None)
                if opened is None or event.by != "policy" or event.decision != "reject":
                    return
                if opened.path is not None and opened.tool != "run_command":
                    self._files[opened.path] = self._files.get(opened.path, 0) + 1
                else:
                    self._others += 1
            case _:
                pass

    def line(self) -> str | None:
        """Return `refused: 3 edits of 2 files (a.py, b.py) and 1 command, ...`; None: nothing was refused."""
        found: list[str] = []
        if self._files:
            named = ", ".join(map(path_line, list(self._files)[:_MOST]))
            more = f" and {len(self._files) - _MOST} more" if len(self._files) > _MOST else ""
            edits = plural(sum(self._files.values()), "edit")
            found.append(f"{edits} of {plural(len(self._files), 'file')} ({named}{more})")
        if self._others:
            found.append(plural(self._others, "command"))
        if not found:
            return None
        return f"refused: {' and '.join(found)}: nobody could approve. {_ALLOWS}, --on-ask handoff waits for you"
