"""Which web requests pass the gate, wait or are refused (docs/decisions/0043, 5)."""

from __future__ import annotations

import pytest

from rundry.agent.gate.draft import WebDraft, digest_of_draft
from rundry.agent.gate.policy import Verdict
from rundry.agent.gate.rules import applies_to_file, denial_of, match_command, rule_text
from rundry.agent.gate.session_policy import SessionPolicy
from rundry.agent.gate.web_policy import judge_web
from rundry.agent.protocol import GateMode, GatePolicy, Rule
from rundry.agent.shell.line_parser import parse_line
from rundry.agent.shell.rule_matches import Hit
from rundry.agent.tools.web.urls import normalized_url, target_of


def draft(text: str, tool: str = "fetch_url", **more: object) -> WebDraft:
    url = normalized_url(text)
    return WebDraft(tool=tool, url=url, target=target_of(url), **more)  # type: ignore[arg-type]


def allow(host: str | None = None, tool: str | None = None) -> Rule:
    return Rule(verdict="allow", tool=tool, host=host)


def judged(text: str, *rules: Rule, **more: object) -> Verdict:
    return judge_web(draft(text, **more), rules)  # type: ignore[arg-type]


def test_a_new_host_asks_and_the_rule_that_is_offered_allows_this_host_for_this_tool():
    verdict = judged("https://docs.python.org/3/")
    assert verdict.action == "ask"
    assert [rule_text(rule) for rule in verdict.offer.rules] == ["allow fetch_url: docs.python.org"]
    assert judged("https://docs.python.org/x", *verdict.offer.rules).action == "allow"
    for other in ("https://python.org/", "https://a.docs.python.org/", "https://docs.python.org.evil.example/"):
        assert judged(other, *verdict.offer.rules).action == "ask", other
    assert judged("https://docs.python.org/", *verdict.offer.rules, tool="web_search").action == "ask"


@pytest.mark.parametrize("mode", list(GateMode))
def test_a_new_host_asks_in_each_mode_of_the_gate(mode: GateMode):
    policy = SessionPolicy(GatePolicy(mode=mode, unsandboxed_ok=True))
    assert policy.judge(draft("https://docs.python.org/"), None).action == "ask"  # type: ignore[arg-type]


def test_deny_has_priority_and_without_a_port_it_means_each_port():
    rules = [allow("x.org:8443"), allow("*.x.org"), Rule(verdict="deny", host="x.org")]
    assert judged("https://x.org:8443/", *rules).action == "deny"
    assert judged("https://a.x.org/", *rules).action == "allow"
    assert judged("https://a.x.org/", *rules, Rule(verdict="deny", tool="fetch_url")).action == "deny"
    assert judged("https://a.x.org/", *rules, Rule(verdict="ask", host="a.x.org")).action == "ask"


def test_an_address_is_denied_in_each_spelling():
    denied = [Rule(verdict="deny", host="93.184.216.34"), allow(tool="fetch_url")]
    assert judged("http://[::ffff:5db8:d822]/", *denied).action == "deny"


@pytest.mark.parametrize("verdict", ["deny", "ask"])
def test_a_rule_for_everything_is_also_one_for_each_host(verdict: str):
    assert judged("https://x.org/", allow("x.org"), Rule(verdict=verdict)).action == verdict  # type: ignore[arg-type]


def test_allow_without_a_port_means_the_usual_ports():
    assert judged("http://x.org/", allow("x.org")).action == "allow"
    assert judged("https://x.org:8443/", allow("x.org")).action == "ask"
    assert judged("https://x.org:8443/", allow(tool="fetch_url")).action == "ask"
    assert [rule.host for rule in judged("https://x.org:8443/").offer.rules] == ["x.org:8443"]
    assert judged("https://new.example/", allow(tool="fetch_url")).action == "allow"


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8000/", "http://localhost/", "http://LOCALHOST./", "http://[::1]/", "http://0x7f.1/",
        "http://2130706433/", "http://017700000001/", "http://127.1/", "http://１２７.0.0.1/",
    ],
)  # fmt: skip
def test_a_server_of_this_machine_asks_unless_a_rule_names_it_however_it_is_spelled(url: str):
    asked = judged(url, allow(tool="fetch_url"))
    named = draft(url).host
    assert (asked.action, asked.why[0]) == ("ask", f"{named} is this machine")
    assert [rule.host for rule in asked.offer.rules] == [named]
    assert judged(url, allow(named)).action == "allow"
    assert judged(url, allow(tool="fetch_url"), Rule(verdict="deny", host=named)).action == "deny"


@pytest.mark.parametrize(
    "url",
    [
        "http://a.localhost/", "http://10.0.0.1/", "http://169.254.169.254/latest/meta-data",
        "http://[::ffff:10.0.0.1]/", "http://0/", "http://[fd00::1]/", "http://100.100.100.200/",
    ],
)  # fmt: skip
def test_an_address_of_the_network_of_this_machine_is_refused_unless_a_rule_names_it(url: str):
    refused = judged(url, allow(tool="fetch_url"))
    assert refused.action == "deny"
    assert "no rule names it" in refused.why[0]
    named = draft(url).host
    assert judged(url, allow(named)).action == "allow"
    assert judged(url, Rule(verdict="ask", host=named)).action == "ask"


def test_the_server_of_the_users_own_provider_may_be_local_and_asks():
    verdict = judged("http://127.0.0.1:8888/search?q=x", tool="web_search", query="x", is_configured=True)
    assert verdict.action == "ask"
    assert [rule_text(rule) for rule in verdict.offer.rules] == ["allow web_search: 127.0.0.1:8888"]


def test_a_doubt_asks_although_a_rule_allows_the_host_and_offers_no_rule():
    verdict = judged("https://x.org/", allow("x.org"), doubts=["it contains something that looks like a key"])
    assert (verdict.action, verdict.offer.rules) == ("ask", [])
    assert verdict.why[0] == "it contains something that looks like a key"


@pytest.mark.parametrize("verdict", ["deny", "ask"])
def test_a_rule_for_a_host_restricts_neither_files_nor_commands_nor_tools_that_read(verdict: str):
    rule = Rule(verdict=verdict, host="x.org")  # type: ignore[arg-type]
    assert not applies_to_file(rule, "edit_file", ["a.py"])
    assert match_command(rule, "curl x.org", parse_line("curl x.org").parts, ["x.org"]) is Hit.NO
    assert denial_of([rule, Rule(verdict="deny", tool="fetch_url", host="x.org")], "fetch_url", []) is None


def test_the_digest_covers_the_tool_the_url_and_the_words():
    one = draft("https://x.org/", query="a")
    others = [
        draft("https://x.org/?", query="a"),
        draft("https://x.org/", query="b"),
        draft("https://x.org/", query="a", tool="web_search"),
    ]
    assert len({digest_of_draft(each, None) for each in (one, *others)}) == 4
