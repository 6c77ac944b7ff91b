"""The agent's side of the Agent Client Protocol: sessions of an editor."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from acp import PROTOCOL_VERSION, RequestError
from acp.interfaces import Client
from acp.schema import (
    AcpMcpServer,
    AgentCapabilities,
    ClientCapabilities,
    CloseSessionResponse,
    HttpMcpServer,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpServerStdio,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
    SseMcpServer,
)

from rundry.agent import VERSION, GateMode, JournalError, RundryError, RunnerProcess, candidates, list_runs

from ..control.run_controller import RunController
from ..start.new_run import Setup
from ..start.run_folders import folder_of
from ..text.show_text import one_line
from .acp_options import modes_of
from .acp_runs import EditorLink, EditorSetup, NoSuchSession, attach, listed
from .acp_session import EditorSession
from .prompt_text import Block, message_of

McpServers = list[HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio]
_MODELS = 40
"""Models that are offered at most."""
_CLIENT = 40
_REFUSED, _INTERNAL, _NOT_FOUND = -32602, -32603, -32002
"""Codes for parameters that cannot be used, for a fault of the agent, and for a session that does not exist."""
NO_MCP = "The MCP servers of the editor are not used: {}. To use them, add [mcp.servers.NAME] to rundry's config."


class AcpServer:
    """Serves one editor, with any number of sessions."""

    def __init__(self, flags: Mapping[str, object]) -> None:
        """`flags`: the options of `rundry acp`, which each new session begins with."""
        self._flags = flags
        self._sessions: dict[str, EditorSession] = {}
        self._client: Client | None = None
        self._channel, self._reads = "acp:unknown", False
        self._looking: set[asyncio.Task[None]] = set()

    def on_connect(self, conn: Client) -> None:
        """Receive the connection to the editor."""
        self._client = conn

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
        **_: object,
    ) -> InitializeResponse:
        """Agree on version 1, and say what this agent can do."""
        del protocol_version  # an editor that does not know the answered version disconnects
        if client_info is not None:
            self._channel = f"acp:{one_line(client_info.name)[:_CLIENT]}"
        files = client_capabilities.fs if client_capabilities is not None else None
        self._reads = bool(files and files.read_text_file)
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=Implementation(name="rundry", title="rundry", version=VERSION),
            auth_methods=[],
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, audio=False, embedded_context=True),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(),
                    resume=SessionResumeCapabilities(),
                    close=SessionCloseCapabilities(),
                ),
            ),
        )

    async def authenticate(self, method_id: str, **_: object) -> None:
        """Refuse: keys are environment variables."""
        login = one_line(method_id)[:40]
        raise RequestError(-32602, f"there is no login {login!r}: set the key of your provider in the environment")

    async def new_session(self, cwd: str, mcp_servers: McpServers | None = None, **_: object) -> NewSessionResponse:
        """Prepare a run in this folder. It begins with the first prompt."""
        try:
            setup = EditorSetup(self._flags, cwd)
            setup.require_model()
            link = EditorLink.new(RunnerProcess(setup.folder / "runner.log"))
            link.start_runner()
        except RundryError as error:
            raise _failed(error) from None
        controller = RunController(link, setup)
        controller.expect_message(is_typing=False)
        session = self._opened(setup.run_id, controller, link)
        session.notes += _unused(mcp_servers)
        session.follow()
        self._look_for_models(session, setup)
        return NewSessionResponse(
            session_id=setup.run_id, modes=modes_of(session.choices.gate), config_options=[*session.choices.options()]
        )

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: McpServers | None = None, **_: object
    ) -> LoadSessionResponse:
        """Open a stored run and send its events."""
        session = await self._attached(cwd, session_id, mcp_servers)
        await session.replay(shown=True)
        session.follow()
        return LoadSessionResponse(modes=modes_of(session.choices.gate), config_options=[*session.choices.options()])

    async def resume_session(
        self, session_id: str, cwd: str, mcp_servers: McpServers | None = None, **_: object
    ) -> ResumeSessionResponse:
        """Open a stored run without sending its events."""
        session = await self._attached(cwd, session_id, mcp_servers)
        await session.replay(shown=False)
        session.follow()
        return ResumeSessionResponse(modes=modes_of(session.choices.gate), config_options=[*session.choices.options()])

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: object
    ) -> ListSessionsResponse:
        """List the stored runs of a folder, newest first."""
        return listed(await asyncio.to_thread(list_runs, folder_of(self._flags)), cwd, cursor)

    async def prompt(self, session_id: str, prompt: Sequence[Block], **_: object) -> PromptResponse:
        """Send a prompt to the run, and answer when it rests."""
        session = self._session(session_id)
        try:
            stop_reason = await session.prompt(message_of(prompt, session.workspace))
        except RundryError as error:
            raise _failed(error) from None
        return PromptResponse(stop_reason=stop_reason)

    async def cancel(self, session_id: str, **_: object) -> None:
        """Interrupt the turn of a session."""
        if session_id in self._sessions:
            self._sessions[session_id].cancel()

    async def set_session_mode(self, session_id: str, mode_id: str, **_: object) -> SetSessionModeResponse:
        """Set the mode of the gate."""
        session = self._session(session_id)
        try:
            _set_gate(session, mode_id)
        except RundryError as error:
            raise _failed(error) from None
        await session.answered()
        return SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: object
    ) -> SetSessionConfigOptionResponse:
        """Set the gate's mode, the model or the effort."""
        session = self._session(session_id)
        try:
            match config_id:
                case "gate":
                    _set_gate(session, str(value))
                case "model":
                    session.choices.choose_model(str(value))
                case "effort":
                    session.choices.choose_effort(str(value))
                case _:
                    raise RequestError(-32602, f"there is no option {one_line(config_id)[:40]!r}")
        except RundryError as error:
            raise _failed(error) from None
        await session.answered()
        return SetSessionConfigOptionResponse(config_options=[*session.choices.options()])

    async def close_session(self, session_id: str, **_: object) -> CloseSessionResponse:
        """Detach from a run; one that waits for a message ends."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            await session.close(ends=True)
        return CloseSessionResponse()

    async def close(self) -> None:
        """Close all sessions, because the editor has gone."""
        sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            await session.close(ends=True)

    def _session(self, session_id: str) -> EditorSession:
        session = self._sessions.get(session_id)
        if session is None:
            raise RequestError(-32602, f"session {one_line(session_id)[:80]!r} is not open: create or load it first")
        return session

    def _opened(self, session_id: str, controller: RunController, link: EditorLink) -> EditorSession:
        assert self._client is not None  # the connection exists before the first request
        session = EditorSession(session_id, controller, link, self._client, channel=self._channel, reads=self._reads)
        self._sessions[session_id] = session
        return session

    async def _attached(self, cwd: str, session_id: str, mcp_servers: McpServers | None) -> EditorSession:
        earlier = self._sessions.pop(session_id, None)
        if earlier is not None:
            await earlier.close()
        try:
            Setup({**self._flags, "cwd": cwd}, headless=False, begins=False)  # report a wrong config or folder
            link = attach(folder_of(self._flags), session_id, cwd)
        except RundryError as error:
            raise _failed(error) from None
        session = self._opened(session_id, RunController(link), link)
        session.notes += _unused(mcp_servers)
        return session

    def _look_for_models(self, session: EditorSession, setup: EditorSetup) -> None:
        """Offer the models of local servers and of providers with a key, once they are known."""

        async def look() -> None:
            found = candidates(await setup.survey())[:_MODELS]
            session.choices.models = {candidate.model.name: candidate.model for candidate in found}
            session.announce_options()

        task = asyncio.ensure_future(look())
        self._looking.add(task)
        task.add_done_callback(self._looking.discard)


def _set_gate(session: EditorSession, mode: str) -> None:
    """Set the gate's mode. Raises RequestError, RundryError."""
    if mode not in list(GateMode):
        raise RequestError(-32602, f"there is no mode {one_line(mode)[:40]!r}: use read, ask, effects, edits or auto")
    session.choices.set_gate(GateMode(mode))


def _unused(servers: McpServers | None) -> list[str]:
    """Return a note about servers that the editor offers; none if it offers none."""
    names = ", ".join(one_line(server.name)[:40] for server in (servers or [])[:10])
    return [NO_MCP.format(names)] if names else []


def _failed(error: RundryError) -> RequestError:
    """Return the error of a request that was refused, or of a journal that cannot be used, as the editor shows it."""
    if isinstance(error, NoSuchSession):
        return RequestError(_NOT_FOUND, one_line(str(error)))
    code = _INTERNAL if isinstance(error, JournalError) else _REFUSED
    return RequestError(code, one_line(str(error)))
