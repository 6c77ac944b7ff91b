"""Decide whether a call of an MCP server's tool is allowed, waits for a person or is refused (docs/decisions/0028)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...protocol import GateMode, Rule
from ..policy import Verdict
from ..rules import rule_text

if TYPE_CHECKING:
    from ..draft import McpDraft


def judge_mcp(draft: McpDraft, mode: GateMode, rules: Sequence[Rule]) -> Verdict:
    """Return the verdict. What the server says about its tool never counts."""
    if draft.is_listing:
        return _judge_listing(draft, mode)
    spoken = [rule for rule in rules if names_tool(rule, draft.tool)]
    denied = next((rule for rule in spoken if rule.verdict == "deny"), None)
    if denied is not None:
        return Verdict(action="deny", why=[f"a rule refuses it: {rule_text(denied)}"])
    if mode is GateMode.READ:
        return Verdict(action="deny", why=["the gate is set to `read`: no tool of an MCP server is called"])
    asked = next((rule for rule in spoken if rule.verdict == "ask"), None)
    if asked is not None:
        return Verdict(action="ask", why=[f"a rule asks: {rule_text(asked)}", *_claims(draft)])
    allowed = next((rule for rule in spoken if rule.verdict == "allow"), None)
    if allowed is not None:
        return Verdict(action="allow", why=[f"a rule allows it: {rule_text(allowed)}"])
    said = "".join(f"; {line}" for line in _claims(draft))
    rule = Rule(verdict="allow", tool=draft.tool)
    return Verdict(action="ask", why=[f"no rule allows {draft.tool}{said}"], rule=rule)


def _claims(draft: McpDraft) -> list[str]:
    return [f"the server says that it {' and '.join(draft.claims)}"] if draft.claims else []


def names_tool(rule: Rule, tool: str) -> bool:
    """Return whether the rule is about this tool: it has its name, or that of its server as `SERVER__*`."""
    if rule.tool is None or rule.path is not None or rule.command is not None:
        return False
    return rule.tool == tool or (rule.tool.endswith("__*") and tool.startswith(rule.tool[:-1]))


def _judge_listing(draft: McpDraft, mode: GateMode) -> Verdict:
    """Return the verdict on other tools of a server: no rule and no mode accepts them."""
    if mode is GateMode.READ:
        return Verdict(action="deny", why=["the gate is set to `read`: no other tools are accepted"])
    return Verdict(
        action="ask", why=[f"the tools of the MCP server {draft.server} are not those that you accepted"], danger=True
    )
