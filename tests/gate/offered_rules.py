from __future__ import annotations

from collections.abc import Callable

from rundry.agent.gate.policy import Verdict


def assert_offer_allows(judge: Callable[..., Verdict], command: str, verdict: Verdict, *allowed: str) -> None:
    """Check that each list of rules that the gate offers for a command lets it pass, with what is allowed already."""
    for rules in (verdict.offer.rules, verdict.offer.prefixes):
        commands = [rule.command for rule in rules]
        assert not rules or judge(command, *allowed, *commands).action == "allow", commands
