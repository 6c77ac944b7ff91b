"""Describe the MCP servers, hooks, skills and telemetry of a run. Starts none. Does not import textual."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rundry.agent import (
    PROJECT_FILE,
    PROJECT_SERVERS,
    FoundSkill,
    Hook,
    McpServer,
    UserError,
    has_login,
    mcp_sdk_missing,
    missing_network,
    otel_target,
)

if TYPE_CHECKING:
    from .new_run import Setup

NOT_TRUSTED = "not trusted: it is in {}; read it, then /trust on the screen"


@dataclass(frozen=True, slots=True)
class Connected:
    """One MCP server or one hook of a config."""

    name: str
    """The name of a server, or the event of a hook."""
    place: str
    """The command line or the URL."""
    trusted: bool
    """Whether a run uses it: the config that has it is the user's own, or trusted, and so are its scripts."""
    problem: str = ""
    """Why it cannot be used, or an empty text if no problem is known."""
    login: bool | None = None
    """Whether a login of a server with an address is stored. None means a hook, or a server with a command."""

    @property
    def state(self) -> str:
        """Whether it is used, and whether there is a login, in words."""
        words = self.problem or "trusted"
        return words if self.login is None else f"{words}, {'a login is stored' if self.login else 'no login'}"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """All that a run would connect to or start."""

    servers: Sequence[Connected] = ()
    hooks: Sequence[Connected] = ()
    skills: Sequence[FoundSkill] = ()
    otel: str | None = None
    """The server that receives spans, or None if nothing is sent."""
    missing: Sequence[str] = ()
    """What would stop a run or a server, and how to fix it."""

    def lines(self) -> Iterator[str]:
        """Yield one line for each. Its texts are foreign."""
        for label, rows in (("mcp", self.servers), ("hook", self.hooks)):
            for row in rows:
                yield f"{label:<10} {row.name}: {row.place}  ({row.state})"
        for found in self.skills:
            state = state_words(found.trusted, found.problem)
            yield f"{'skill':<10} {found.skill.name}: {found.place}  ({state})"
        if self.otel is not None:
            yield f"{'otel':<10} spans of runs are sent to {self.otel}"

    def as_data(self) -> dict[str, object]:
        """Return them for JSON."""
        skills = [skill_data(one) for one in self.skills]
        return {"mcp": list(self.servers), "hooks": list(self.hooks), "skills": skills, "otel": self.otel}


def surroundings_of(setup: Setup) -> Surroundings:
    """Return what is configured here. Raises ConfigError for a damaged trust store."""
    used, found = setup.settings, setup.settings_if_trusted()
    sdk = mcp_sdk_missing() if used.mcp else None
    missing = [] if sdk is None else [f"[mcp.servers]: the MCP SDK is not installed; {sdk}"]
    servers = [_server(server, setup.workspace, server in used.mcp) for server in found.mcp]
    missing += [f"MCP server {one.name}: {one.problem}" for one in servers if one.trusted and one.problem]
    otel = None
    try:
        target = otel_target(used.otel, os.environ)
        otel = None if target is None else target.server
    except UserError as error:
        missing.append(str(error))
    ours = [_key(hook) for hook in used.hooks]
    hooks = [_hook(hook) for hook in used.hooks]
    not_trusted = NOT_TRUSTED.format(PROJECT_FILE)
    hooks += [Connected(hook.on, hook.command, False, not_trusted) for hook in found.hooks if _key(hook) not in ours]
    return Surroundings(servers, hooks, setup.extensions.skills, otel, missing)


def _server(server: McpServer, workspace: Path, is_trusted: bool) -> Connected:
    file = PROJECT_SERVERS if server.expands else PROJECT_FILE  # the user's own files are trusted
    problem = _program_problem(server, workspace) or missing_network(server, workspace, os.environ) or ""
    if not is_trusted:
        problem = "; ".join(part for part in (NOT_TRUSTED.format(file), problem) if part)
    login = None if server.url is None else has_login(server, os.environ)
    return Connected(server.name, server.place, is_trusted, problem, login)


def _program_problem(server: McpServer, workspace: Path) -> str:
    if server.command is None or "${" in server.command:
        return ""
    program, folder = str(Path(server.command).expanduser()), workspace / Path(server.cwd or "").expanduser()
    if not folder.is_dir():
        return f"its folder {folder} does not exist"
    is_found = shutil.which(str(folder / program) if os.sep in program else program) is not None
    return "" if is_found else f"there is no program {program}: install it, or correct its command"


def _hook(hook: Hook) -> Connected:
    untrusted = [path for path, digest in hook.scripts.items() if not digest]
    problem = f"not trusted: {', '.join(untrusted)}; read it, then /trust on the screen" if untrusted else ""
    return Connected(hook.on, hook.command, not untrusted, problem)


def _key(hook: Hook) -> tuple[object, ...]:
    return (hook.on, hook.command, hook.tool, hook.path, hook.timeout)


def state_words(trusted: bool, problem: str) -> str:
    """Return whether it is used, and how to trust it. The problem is foreign text."""
    if problem:
        return f"not used: {problem}"
    return "trusted" if trusted else "not trusted: read it, then /trust on the screen"


def skill_data(one: FoundSkill) -> dict[str, object]:
    """Return a skill for JSON."""
    skill = one.skill
    return {
        "name": skill.name,
        "description": skill.description,
        "origin": skill.origin,
        "place": skill.place,
        "folder": skill.folder,
        "digest": skill.digest,
        "trusted": one.trusted,
        "problem": one.problem,
        "license": one.license,
        "allowed_tools": one.allowed_tools,
    }
