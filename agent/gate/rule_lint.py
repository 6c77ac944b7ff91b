"""Find rules that can never apply, because a person who wrote one would rely on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..host.address_hosts import read_host
from ..host.files.git_patterns import is_pattern
from ..protocol.tools.mcp import server_of
from ..protocol.tools.traits import tools_with
from .rules import rule_text, words_of_rule

if TYPE_CHECKING:
    from ..protocol import Rule

_FILES = tools_with("change")
_READING = tools_with("read")
_WEB = tools_with("web")
_COMMANDS = "run_command"
_NO_MCP_PART = "a rule for a tool of an MCP server has no path, command or host: remove them"


def rule_problem(rule: Rule) -> str | None:
    """Return why the rule can never apply, with the fix; None if it can."""
    wrong = _of_tool(rule) or _of_command(rule) or _of_path(rule) or _of_host(rule)
    return f"[[gate.rules]] {rule_text(rule)}: {wrong}" if wrong else None


def _of_tool(rule: Rule) -> str | None:
    if sum(part is not None for part in (rule.path, rule.command, rule.host)) > 1:
        return "it names more than one of path, command and host: write a rule for each"
    if rule.tool is None:
        return None
    if server_of(rule.tool) is not None:
        return None if rule.path is None and rule.command is None and rule.host is None else _NO_MCP_PART
    if rule.tool == "start_command":
        return "run_command rules apply to start_command too: name run_command"
    if rule.tool in _READING:
        return None if rule.verdict == "deny" else "a tool that only reads never asks: remove the rule, or use deny"
    if rule.tool not in (*_FILES, _COMMANDS, *_WEB):
        return f"rules do not apply to {rule.tool}: use one of {', '.join((*_FILES, _COMMANDS, *_READING, *_WEB))}"
    return None


def _of_command(rule: Rule) -> str | None:
    if rule.command is None:
        return None
    if rule.tool not in (None, _COMMANDS):
        return f"{rule.tool} does not run commands: remove the tool or the command"
    if not rule.command.strip():
        return "the command is empty: write its first words"
    if rule.verdict == "allow" and not words_of_rule(rule.command):
        return "an allow rule takes one plain command: write a rule for each part"
    return None


def _of_path(rule: Rule) -> str | None:
    path = rule.path
    if path is None:
        return None
    if not path.strip(" /"):
        return "the path is empty: write a glob such as src/**"
    if rule.tool in _WEB:
        return "a page has no path in the workspace: write host instead of path"
    if rule.tool == _COMMANDS and rule.verdict == "allow":
        return "a command is allowed by its words: write command instead of path"
    if ".." in path.split("/") or path.startswith("~"):
        return "the path leads out of the workspace, where nothing may change: write a path inside"
    if not is_pattern(path.lstrip("!")):
        return "this is not a glob: write it as in .gitignore, such as src/** or *.py"
    return None


def _of_host(rule: Rule) -> str | None:
    if rule.host is None:
        return None
    if rule.tool not in (None, *_WEB):
        return f"{rule.tool} requests nothing of a host: use {' or '.join(_WEB)}, or leave the tool out"
    try:
        is_read = read_host(rule.host) == rule.host
    except ValueError as error:
        return str(error)
    return None if is_read else f"write the host as {read_host(rule.host)}"
