"""Decide on web requests by their host (docs/decisions/0043, 5). The mode of the gate does not count: a request leaves
the sandbox.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING

from ..host.address_hosts import Target, split_host
from ..host.internet import address_in_entry, is_loopback, may_resolve_to
from ..protocol import Rule
from ..protocol.tools.traits import tools_with
from .policy import Verdict
from .rules import RuleOffer, rule_text

if TYPE_CHECKING:
    from .draft import WebDraft

_WEB = tools_with("web")
_USUAL_PORTS = (80, 443)


def applies_to_host(rule: Rule, tool: str, target: Target) -> bool:
    """Return whether the rule is about requests of this tool to this host.

    Without a port, `allow` means the ports 80 and 443, the others each port. A rule for the whole tool means all hosts.
    """
    if rule.path is not None or rule.command is not None or rule.tool not in (None, tool) or tool not in _WEB:
        return False
    allows = rule.verdict == "allow"
    if rule.host is None:
        return not allows or (rule.tool is not None and target.port in _USUAL_PORTS)
    is_suffix, host, _ = split_host(rule.host)
    if not _fits_port(rule, rule.host, target.port):
        return False
    return target.host.endswith(f".{host}") if is_suffix else _canonical(target.host) == _canonical(host)


def _fits_port(rule: Rule, host: str, port: int) -> bool:
    named = split_host(host)[2]
    return named == port or (named is None and (rule.verdict != "allow" or port in _USUAL_PORTS))


def denial_of_host(rules: Sequence[Rule], tool: str, target: Target) -> str | None:
    """Describe the rule that denies requests of this tool to this host, or return None."""
    found = next((rule for rule in rules if rule.verdict == "deny" and applies_to_host(rule, tool, target)), None)
    return None if found is None else f"a rule refuses it: {rule_text(found)}"


def named_addresses(rules: Sequence[Rule], tool: str, port: int) -> frozenset[str]:
    """Return the local addresses to which a name may resolve: those that rules allow for this tool and port."""
    hosts = [
        rule.host
        for rule in rules
        if rule.verdict == "allow" and rule.tool in (None, tool) and rule.host and _fits_port(rule, rule.host, port)
    ]
    return frozenset(found for host in hosts if (found := address_in_entry(host)) is not None)


def judge_web(draft: WebDraft, rules: Sequence[Rule]) -> Verdict:
    """Return the verdict on a web request."""
    target, tool = draft.target, draft.tool
    if (denied := denial_of_host(rules, tool, target)) is not None:
        return Verdict(action="deny", why=[denied])
    spoken = [rule for rule in rules if applies_to_host(rule, tool, target)]
    if is_local(target) and not draft.is_configured and not any(rule.host for rule in spoken):
        if is_loopback(target.host):
            offer = RuleOffer(rules=[Rule(verdict="allow", tool=tool, host=draft.host)])
            return Verdict(action="ask", why=[f"{draft.host} is this machine", *draft.doubts], offer=offer)
        return Verdict(
            action="deny",
            why=[
                f"{draft.host} is an address of this machine or of its network, and no rule names it: "
                f'the person can add {{verdict = "allow", tool = "{tool}", host = "{draft.host}"}} to [[gate.rules]]'
            ],
        )
    if (asked := next((rule for rule in spoken if rule.verdict == "ask"), None)) is not None:
        return Verdict(action="ask", why=[*draft.doubts, f"a rule asks: {rule_text(asked)}", *draft.notes])
    if draft.doubts:
        return Verdict(action="ask", why=[*draft.doubts, *draft.notes])
    if (allowed := next((rule for rule in spoken if rule.verdict == "allow"), None)) is not None:
        return Verdict(action="allow", why=[f"a rule allows it: {rule_text(allowed)}"])
    offer = RuleOffer(rules=[Rule(verdict="allow", tool=tool, host=draft.host)])
    return Verdict(action="ask", why=[*draft.notes, f"no rule allows requests to {draft.host}"], offer=offer)


def is_local(target: Target) -> bool:
    """Return whether the host itself says that it is not on the Internet. A name is resolved when it is requested."""
    if target.host == "localhost" or target.host.endswith(".localhost"):
        return True
    try:
        ip_address(target.host)
    except ValueError:
        return False
    return not may_resolve_to(target.host, target.host, frozenset())


def _canonical(host: str) -> str:
    """Return one spelling for all of an address, also for an IPv4 address that is written as an IPv6 address."""
    try:
        found = ip_address(host)
    except ValueError:
        return host
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return str(mapped or found)
