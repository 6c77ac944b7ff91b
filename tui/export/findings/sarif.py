"""The findings of a run as SARIF 2.1.0 (OASIS, Static Analysis Results Interchange Format), for code scanning tools."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from rundry.agent import VERSION, end_word, is_address

from ...start.confirmed_findings import below_workspace
from ...text.show_text import one_line, show

if TYPE_CHECKING:
    from ...start.confirmed_findings import Findings, FindingState, FoundRow

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "rundryFindingKey/v1"
"""Name of the fingerprint; the number changes with the way in which it is computed."""
_ROOT = "SRCROOT"
_KINDS: dict[FindingState, tuple[str, str]] = {
    "confirmed": ("fail", "warning"),
    "unverified": ("review", "none"),
    "open": ("review", "none"),
    "refuted": ("fail", "warning"),
    "duplicate": ("fail", "warning"),
}
"""State to kind and level. A level other than none is only allowed for the kind fail (3.27.10)."""
_OTHER_RULE, _DEAD_RULE = "finding", "dead-link"
_LINK = re.compile(r"\[(?=[^\]]*\]\()")
"""The start of what a reader would show as a link (3.11.6)."""
_KEPT_IN_PATH = "/-._~!$&'()*+,;=@"


def as_sarif(found: Findings) -> Iterator[str]:
    """Yield the log file, with one run and one result on each line."""
    rules = _rules(found)
    places = {rule["id"]: at for at, rule in enumerate(rules)}
    head = json.dumps({"$schema": SCHEMA, "version": "2.1.0"})[:-1]
    yield f'{head}, "runs": [{json.dumps(_run(found, rules))[:-1]}, "results": [\n'
    for at, row in enumerate(found.rows):
        yield ("" if at == 0 else ",\n") + json.dumps(_result(row, _rule(found, row), places, found.state.workspace))
    yield "\n]}]}\n"


def _run(found: Findings, rules: list[dict[str, Any]]) -> dict[str, Any]:
    state, facts, outcome = found.state, found.facts, found.state.outcome
    invocation: dict[str, Any] = {"executionSuccessful": outcome is not None and outcome.complete}
    if found.began:
        invocation["startTimeUtc"] = _utc(found.began)
    if outcome is not None:
        invocation |= {"endTimeUtc": _utc(state.last_at), "exitCode": outcome.exit_code}
        level = "note" if outcome.complete else "warning"
        said = f"{end_word(outcome)}: {outcome.detail}"
        invocation["toolExecutionNotifications"] = [{"level": level, "message": {"text": _plain(said)}}]
    properties: dict[str, Any] = {"model": state.model, "task": show(state.task)}
    if facts.lenses:
        properties["coverage"] = msgspec.to_builtins(facts.coverage())
        properties["estimate"] = msgspec.to_builtins(facts.estimate())
    return {
        "tool": {"driver": {"name": "rundry", "version": VERSION, "semanticVersion": VERSION, "rules": rules}},
        "automationDetails": {"id": f"rundry/{state.run_id}"},
        "invocations": [invocation],
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The workspace of the run."}}},
        "columnKind": "unicodeCodePoints",
        "properties": properties,
    }


def _rules(found: Findings) -> list[dict[str, Any]]:
    """Return a rule for each lens, and one for findings that no lens reported."""
    used = {_rule(found, row) for row in found.rows}
    rules = [
        {"id": _rule_id(name), "shortDescription": {"text": _plain(lens.prompt or name)}}
        for name, lens in found.facts.lenses.items()
    ]
    if _OTHER_RULE in used:
        rules.append({"id": _OTHER_RULE, "shortDescription": {"text": "A worker or a model reported it for an item."}})
    if _DEAD_RULE in used:
        rules.append({"id": _DEAD_RULE, "shortDescription": {"text": "A page links to an address that does not work."}})
    return rules


def _rule(found: Findings, row: FoundRow) -> str:
    if row.finding.is_dead_link:
        return _DEAD_RULE
    return _rule_id(row.finding.source) if row.finding.source in found.facts.lenses else _OTHER_RULE


def _rule_id(lens: str) -> str:
    return f"lens/{one_line(lens)}"


def _result(row: FoundRow, rule: str, places: dict[str, int], workspace: str) -> dict[str, Any]:
    finding = row.finding
    kind, level = _KINDS[row.state]
    text = "\n\n".join(part for part in (one_line(finding.title), show(finding.detail).strip()) if part)
    result: dict[str, Any] = {
        "ruleId": rule,
        "ruleIndex": places[rule],
        "kind": kind,
        "level": level,
        "message": {"text": _plain(text)},
        "partialFingerprints": {FINGERPRINT: row.fingerprint},
        "properties": _properties(row, workspace),
    }
    if locations := _locations(row):
        result["locations"] = locations
    if row.state in ("refuted", "duplicate"):
        why = "; ".join(reason for reason in finding.reasons if reason) or row.verdict
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": show(why)}]
    return result


def _properties(row: FoundRow, workspace: str) -> dict[str, Any]:
    finding = row.finding
    votes = [
        {"by": one_line(below_workspace(vote.by, workspace)), "verdict": vote.verdict, "reason": show(vote.reason)}
        for vote in finding.votes
    ]
    return {
        "state": row.state,
        "verdict": row.verdict,
        "judgedBy": finding.by,
        "reasons": [show(reason) for reason in finding.reasons],
        "votes": votes,
        "lens": one_line(finding.source),
        "pass": finding.pass_number,
        "relation": finding.relation,
        "evidence": show(finding.evidence),
        "duplicateOf": None if finding.duplicate_of is None else below_workspace(finding.duplicate_of, workspace),
        "key": one_line(below_workspace(finding.key, workspace)),
    }


def _locations(row: FoundRow) -> list[dict[str, Any]]:
    if row.line is not None:
        region = {"startLine": row.line} | ({"endLine": row.last_line} if row.last_line != row.line else {})
        return [{"physicalLocation": {"artifactLocation": _file(row.file), "region": region}}]
    pages = [page for page in (row.linked_from or (row.finding.evidence.strip(),)) if is_address(page)]
    return [{"physicalLocation": {"artifactLocation": {"uri": _address(page)}}} for page in pages[:100]]


def _file(path: str) -> dict[str, str]:
    if Path(path).is_absolute():
        return {"uri": "file://" + quote(path, safe=_KEPT_IN_PATH)}
    return {"uri": quote(path, safe=_KEPT_IN_PATH), "uriBaseId": _ROOT}


def _address(page: str) -> str:
    return quote(page, safe="/-._~:?#[]@!$&'()*+,;=%")


def _plain(text: str) -> str:
    """Return a text in which a reader of SARIF sees no link."""
    return _LINK.sub(r"\\[", show(text))


def _utc(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
