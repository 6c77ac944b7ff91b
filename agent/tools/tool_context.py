"""Resources that a run's tools use."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from ..budget.time_limits import FixedTime
from ..gate.rules import denial_of
from ..host.file_errors import PathRefused
from ..host.ignored_files import Ignore
from ..protocol.messages import SeenContent
from .read_contents import ReadContents
from .tool_arguments import AskPerson, Finish, StopCommand, UpdatePlan

if TYPE_CHECKING:
    from ..budget.time_limits import TimeLimits
    from ..extend.mcp.mcp_servers import McpServers
    from ..gate.draft import CheckLookup
    from ..host.files.file_states import FileState
    from ..host.workspace_paths import Workspace
    from ..journal.blobs import Blobs
    from ..protocol import Rule, Skill
    from ..sandbox.sandbox import Sandbox
    from .reading.fetching import Fetcher
    from .tool_result import ToolResult
    from .web.request_gate import Web

OUTPUT = "output:"
"""Prefix of the paths under which `read_file` reads outputs that were too long to show."""
PAGE = f"{OUTPUT}web-"
"""Prefix of the paths of outputs that are text from the web."""


class Elsewhere(Protocol):
    """Runs reading tools on another machine."""

    async def read(self, name: str, arguments: msgspec.Struct, ctx: ToolContext) -> ToolResult | None:
        """Return the result of a tool, or None if the caller must run it itself."""
        ...

    async def close(self) -> None:
        """End everything. May be called twice."""
        ...


class Jobs(Protocol):
    """The background commands of a tree of files."""

    def names(self) -> Sequence[str]:
        """Return the names of the running commands."""
        ...

    def output(self, name: str) -> bytes | None:
        """Return the output so far, also after its end, or None if this runner did not start such a command."""
        ...


class NoJobs:
    """The background commands of tools that start none."""

    def names(self) -> Sequence[str]:
        """Return no names."""
        return ()

    def output(self, name: str) -> bytes | None:
        """Return None, because nothing was started."""
        return None


@dataclass(slots=True)
class ToolContext:
    """Resources for the tools of one run."""

    workspace: Workspace
    env: Mapping[str, str]
    """Environment variables of commands."""
    sandbox: Sandbox
    """Sandbox for commands; `Sandbox()` restricts nothing."""
    blobs: Blobs
    """Stored contents: what is too long to show, and files before and after a change."""
    mcp: McpServers
    """The MCP servers whose tools the run offers."""
    time_limits: TimeLimits = field(default_factory=FixedTime)
    """How long tools and commands may take."""
    limit: int = 12_000
    """Characters of a result."""
    fetcher: Fetcher | None = None
    """Makes the requests of a search that lists its hosts. None means that they pass the gate."""
    web: Web | None = None
    """What requests at the gate need. None means that the web is off."""
    background: Jobs = field(default_factory=NoJobs)
    """The commands that run in the background."""
    rules: Sequence[Rule] = ()
    """The person's rules: `deny` also applies to tools that only read."""
    skills: Sequence[Skill] = ()
    """Skills that the model can load."""
    elsewhere: Elsewhere | None = None
    """Runs the tools that read the workspace on other machines. None means they run here."""
    contents: ReadContents | None = field(default_factory=ReadContents)
    """The contents of files that the model has seen. None means a person calls the tools, who may replace any file."""
    decides: str = ""
    """In a run that makes a plan: what the person set to decide when its task is done, or empty if nothing is set."""
    checks: CheckLookup | None = None
    """Tells whether a command can be the check of a plan."""
    ignore: Ignore = field(init=False)
    _outputs: dict[str, str] = field(default_factory=dict[str, str])
    _pages: set[str] = field(default_factory=set[str])
    """Those of `_outputs` that are text from the web."""

    def __post_init__(self) -> None:
        self.ignore = Ignore(self.workspace.root, self.workspace.skipped)

    def register_output(self, sha: str) -> str:
        """Return the path under which `read_file` finds this blob. A resumed run registers its earlier outputs."""
        name = OUTPUT + sha[:10]
        self._outputs[name] = sha
        return name

    def register_page(self, sha: str) -> str:
        """Return the path under which `read_file` finds this blob as text from the web."""
        name = self.register_output(sha)
        self._pages.add(name)
        return name.replace(OUTPUT, PAGE)

    def is_page(self, path: str) -> bool:
        """Return whether a path is stored text from the web, however it is written."""
        return path.startswith(PAGE) or path in self._pages

    def register_named_output(self, name: str, sha: str) -> None:
        """Register an output under its own name."""
        self._outputs[OUTPUT + name] = sha

    def output(self, name: str) -> bytes:
        """Return the stored output of a call, or the output of a background command. Raises KeyError."""
        name = OUTPUT + name.removeprefix(PAGE) if name.startswith(PAGE) else name
        live = self.background.output(name.removeprefix(OUTPUT))
        if live is not None:
            return live
        return self.blobs.load(self._outputs[name])

    def denial_of(self, tool: str, path: str | None) -> str | None:
        """Describe the person's rule that denies this path to a reading tool. Never raises."""
        if not self.rules:
            return None
        paths: list[str] = []
        if path is not None and not path.startswith(OUTPUT):
            try:
                paths = [self.workspace.relative(self.workspace.resolve(path)), os.path.normpath(path)]
            except PathRefused:
                return None  # the tool reports this itself
        return denial_of(self.rules, tool, paths)

    def why_unread(self, path: str, before: FileState) -> str:
        """Return why a file has lines that the model never saw, or empty if it may replace the file."""
        return "" if self.contents is None else self.contents.why_unread(path, before, self.workspace.seen)

    def is_new(self, path: str, now: FileState) -> bool:
        """Return whether a file was written since the run began, and the model has not seen this content."""
        return self.contents is not None and self.contents.is_new(path, now)

    def notes_on_edit(self, path: str, before: FileState) -> list[str]:
        """Return what the model should know about the other lines of a file that it edits."""
        return [] if self.contents is None else self.contents.notes_on_edit(path, before)

    def seen(self, state: FileState, first: int, last: int, of: int) -> SeenContent | None:
        """Return what a result shows of a file: the lines from `first` to `last` of `of`."""
        path = self.workspace.relative(state.real)
        if self.contents is None or state.sha256 is None:
            return None
        self.contents.keep_text(path, state)
        return SeenContent(path=path, digest=state.sha256, first=first, last=last, of=of)

    def bounded_seconds(self, seconds: float) -> float:
        """Limit a tool's time-out to the rest of the run's time (docs/requirements.md 3.3)."""
        left = self.time_limits.seconds_for_work()
        return seconds if left is None else max(0.1, min(seconds, left))

    def question(self, arguments: msgspec.Struct | None) -> AskPerson:
        """Return the arguments of `ask_person`."""
        assert isinstance(arguments, AskPerson)
        return arguments

    def finish(self, arguments: msgspec.Struct | None) -> tuple[str, list[Any]]:
        """Return the answer and citations of `finish` as the model gave them."""
        assert isinstance(arguments, Finish)
        return arguments.answer, [_plain(citation) for citation in arguments.citations]

    def command_name(self, arguments: msgspec.Struct | None) -> str:
        """Return the name in the arguments of `stop_command`."""
        assert isinstance(arguments, StopCommand)
        return arguments.name

    def plan(self, arguments: msgspec.Struct | None) -> list[str]:
        """Return the lines of `update_plan`."""
        assert isinstance(arguments, UpdatePlan)
        return arguments.written()


def _plain(citation: object) -> object:
    built: object = msgspec.to_builtins(citation)
    return built
