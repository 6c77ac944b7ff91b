"""Name the proposals that a headless run refused because nobody could approve them. Does not import textual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rundry.agent import GateMode, ProposalDecided, ProposalOpened, entry_name, plural, server_of

from ...text.show_text import path_line

if TYPE_CHECKING:
    from rundry.agent import Event, RunSpec

_ALLOWS = "--gate edits allows edits, --gate auto also commands in the sandbox"
_MOST = 3
"""Number of files that the line names."""


def expected_refusals(spec: RunSpec, mode: GateMode) -> str | None:
    """Return the line that says before the run what will be refused, or None if a person decides.

    `mode`: that of the gate when the run began.
    """
    if spec.review is not None and mode in (GateMode.ASK, GateMode.EFFECTS):
        return "each repair is staged, and the run ends at it: rundry apply decides; --gate auto applies repairs"
    acts = spec.changes_files or spec.has_children
    if mode is GateMode.STAGE and acts:
        return "nothing changes in the workspace: what this run changes is staged, and rundry apply decides on it"
    if mode not in (GateMode.ASK, GateMode.EFFECTS) or spec.gate.on_ask == "handoff" or not acts:
        return None
    if mode is GateMode.EFFECTS:
        return f"nobody can approve in a headless run: edits, and what commands change, are refused; {_ALLOWS}"
    return f"nobody can approve in a headless run: edits and commands that need approval are refused; {_ALLOWS}"


class Refused:
    """Counts what was refused because it needed a person's approval."""

    def __init__(self) -> None:
        self._asked: dict[str, ProposalOpened] = {}
        self._files: dict[str, int] = {}
        """Path to the number of refused edits, in the order of the first one."""
        self._others = 0
        self._tools: dict[str, int] = {}
        """Calls of MCP servers, by the name of the tool for the model."""
        self._effects: dict[str, int] = {}
        """What commands would have changed, in the same form."""

    def take(self, event: Event) -> None:
        """Count the next event of the run."""
        match event:
            case ProposalOpened() if event.asks:
                self._asked[event.proposal_id] = event
            case ProposalDecided():
                opened = self._asked.pop(event.proposal_id, None)
                if opened is None or event.by != "policy" or event.decision != "reject":
                    return
                if opened.effects is not None:
                    for entry in opened.effects.entries:
                        name = entry_name(entry)
                        self._effects[name] = self._effects.get(name, 0) + 1
                elif opened.path is not None and opened.tool != "run_command":
                    self._files[opened.path] = self._files.get(opened.path, 0) + 1
                elif server_of(opened.tool) is not None:
                    self._tools[opened.tool] = self._tools.get(opened.tool, 0) + 1
                else:
                    self._others += 1
            case _:
                pass

    def line(self) -> str | None:
        """Return `refused: 3 edits of 2 files (a.py, b.py) and 1 command, ...`, or None if nothing was refused."""
        found: list[str] = []
        if self._files:
            named = _some([path_line(path) for path in self._files])
            edits = plural(sum(self._files.values()), "edit")
            found.append(f"{edits} of {plural(len(self._files), 'file')} ({named})")
        if self._effects:
            count = sum(self._effects.values())
            found.append(f"{plural(count, 'change')} of commands ({_some(list(self._effects))})")
        if self._others:
            found.append(plural(self._others, "command"))
        ways = [_ALLOWS] if found else []
        if self._tools:
            found.append(f"{plural(sum(self._tools.values()), 'call')} of {_some(list(self._tools))}")
            ways.append(f'a rule with tool = "{next(iter(self._tools))}" and verdict = "allow" allows calls of it')
        if not found:
            return None
        return (
            f"refused: {' and '.join(found)}: nobody could approve. {', '.join(ways)}, --on-ask handoff waits for you"
        )


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return f"{', '.join(names[:_MOST])}{more}"
