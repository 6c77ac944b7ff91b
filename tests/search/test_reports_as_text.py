"""Reports that small models write into the text of their answer: read if they fit the tool, reported if they do not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fakes.models.model_by_role import NOTHING, READ, ModelByRole, judge, report
from fakes.turns import Turn

ONE = {"title": "x is wrong", "detail": "the second line", "evidence": "a.txt:2"}
TWO = {"title": "y is wrong", "detail": "the third line", "evidence": "b.txt:3"}


def written(*findings: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"found_new": bool(findings), "reason": "looked", "items": [], "findings": list(findings), **more}


def fenced(value: object, language: str = "json") -> str:
    return f"```{language}\n{json.dumps(value, indent=4)}\n```"


def asked(search: Any, *texts: str, **more: Any) -> Any:
    """A search whose lens reads, then answers with these texts in turn, then finds nothing more."""
    answers = [READ, *map(Turn, texts), *[READ, NOTHING] * 10]
    return search(ModelByRole({"one": answers}, reads=False), "one", dry_passes=1, sceptics=0, **more)


def titles(run: Any) -> list[str]:
    return [event["title"] for event in run.of("finding_reported")]


AS_QWEN_WRITES = """\
```json
{
    "found_new": true,
    "reason": "The new version of `a.txt` introduces a query that is directly concatenated with user input.",
    "items": [
        {
            "kind": "file",
            "value": "a.txt"
        }
    ],
    "findings": [
        {
            "title": "x is wrong",
            "detail": "The string 'name' is used as an unquoted placeholder.",
            "evidence": "a.txt:2",
            "key": "SQL Injection"
        }
    ]
}
```"""
"""As Qwen2.5-Coder-1.5B answered in a review, with the names of these files."""

AS_QWEN_WRITES_TOO = """\
<report>
found_new=false
reason="The line number was changed from 5 to 6."
items=[
    {
        "kind": "file",
        "value": "a.txt:5"
    }
]
findings=[
    {
        "title": "x is wrong",
        "detail": "The line number was changed from 5 to 6.",
        "evidence": "a.txt:2",
        "key": "line_number_change"
    }
]
</report>"""

READ_AS_ONE = {
    "as Qwen writes": AS_QWEN_WRITES,
    "as Qwen writes after a refusal": AS_QWEN_WRITES_TOO,
    "bare": json.dumps(written(ONE)),
    "without a language": fenced(written(ONE), ""),
    "in prose": f"I looked at {{each}} file [twice]. My report is {json.dumps(written(ONE))} and that is all.",
    "a list": fenced([ONE]),
    "one finding": f"I found this:\n{json.dumps(ONE)}",
    "a call in a fence and in prose": f"So I call:\n{fenced({'name': 'report', 'arguments': written(ONE)})}\nDone.",
    "a list of calls": json.dumps([{"name": "report", "arguments": written(ONE)}]),
    "by the name of the tool": json.dumps({"report": written(ONE)}),
    "said twice": f"{fenced(written(ONE))}\nAgain:\n{fenced(ONE)}",
    "a comma too many": '{"found_new": true, "reason": "r", "findings": [' + json.dumps(ONE) + ",],}",
    "a line end in a text": json.dumps(written(ONE)).replace("the second line", "the second\nline"),
    "next to other JSON": f'The file has {{"a": [1, 2]}}.\n{fenced(written(ONE))}',
}


@pytest.mark.parametrize("form", READ_AS_ONE)
async def test_a_report_in_the_text_is_read(search, form):
    run = asked(search, READ_AS_ONE[form])
    outcome = await run.run()
    assert (outcome.reason, outcome.complete) == ("dry", True), run.story()
    assert titles(run) == ["x is wrong"]
    reports = [event["from_text"] for event in run.of("tool_called") if event["tool"] == "report"]
    assert reports[0] and not any(reports[1:])


async def test_several_reports_in_one_answer_are_one(search):
    run = asked(search, f"{fenced(written(ONE))}\nand in the other file\n{fenced([TWO, ONE])}")
    outcome = await run.run()
    assert titles(run) == ["x is wrong", "y is wrong"], run.story()
    assert outcome.complete


NOT_A_REPORT = {
    "other fields": (fenced([{"file": "a.txt", "line": 2, "issue": "x is wrong"}]), "findings[0]: missing"),
    "a wrong type": (json.dumps(written({"title": 7, "evidence": "a.txt:2"})), "title: expected `str`"),
    "one of two does not fit": (fenced([ONE, {"issue": "y"}]), "findings[1]: missing"),
    "a key twice": ('{"findings": [], "findings": [' + json.dumps(ONE) + "]}", "`findings` twice"),
    "cut off": (fenced(written(ONE, TWO))[:-30], "cut off"),
    "two lists, one cut off": (f"{fenced([ONE])}\n{fenced([TWO])[:-20]}", "report:"),
    "without quotes": (
        '<report>\nfound_new: true\nfindings: [\n  {title: "x is wrong", evidence: "a.txt:2"}\n]\n</report>',
        "as one JSON object",
    ),
    "a place that is not there": (fenced([{**ONE, "evidence": "a.txt:99"}]), "there is no line 99"),
    "no place": (fenced([{"title": "x is wrong", "detail": "somewhere"}]), "it has no evidence"),
}


@pytest.mark.parametrize("form", NOT_A_REPORT)
async def test_what_does_not_fit_becomes_a_failed_call_with_the_reason(search, form):
    text, why = NOT_A_REPORT[form]
    run = asked(search, text, json.dumps(written()))
    outcome = await run.run()
    (refused,) = [event["result"] for event in run.of("tool_finished") if not event["ok"]]
    assert why in refused, refused
    assert titles(run) == [] and outcome.complete, run.story()


PROSE = {
    "words": "found_new: true. findings: x is wrong in a.txt:2",
    "JSON of a file": 'The file has {"title": "x", "name": ["a"]} and [1, 2].',
    "issues under another name": fenced({"issues": [ONE]}),
    "an empty list": "[]",
    "only items": '[{"kind": "file", "value": "a.txt"}]',
    "a code block": "```python\nfound = {'title': 'x', 'where': [1]}\n```",
    "open brackets": '{" [' + "".join(f'{{"{n}": [' for n in range(3000)),
    "deep brackets": "[" * 100_000,
}


@pytest.mark.parametrize("form", PROSE)
async def test_other_text_stays_text(search, form):
    run = asked(search, PROSE[form], json.dumps(written()))
    assert (await run.run()).complete, run.story()
    assert titles(run) == []
    assert not [event for event in run.of("tool_finished") if not event["ok"]]
    asks = "call `report`, or write its arguments as one JSON object (report takes found_new, reason, items (optional)"
    assert asks in run.of("prompted")[2]["text"]


async def test_a_report_in_the_text_counts_only_after_a_look_and_next_to_no_call(search):
    blind = search(ModelByRole({"one": [Turn(json.dumps(written(ONE)))]}, reads=False), "one", retries=0)
    outcome = await blind.run()
    assert "it read nothing" in outcome.detail and titles(blind) == []

    said = Turn(json.dumps(written(TWO)), calls=report(ONE).calls)
    run = search(ModelByRole({"one": [said, NOTHING]}), "one")
    await run.run()
    assert titles(run) == ["x is wrong"], run.story()


VERDICTS = {
    "fenced": (fenced({"verdict": "refuted", "reason": "line 2 is right"}), "refuted"),
    "bare": ('My verdict: {"verdict": "stands", "reason": "I see it"}', "confirmed"),
}


@pytest.mark.parametrize("form", VERDICTS)
async def test_a_verdict_in_the_text_is_a_vote(search, form):
    text, verdict = VERDICTS[form]
    run = search(ModelByRole({"one": [report(ONE), NOTHING]}, sceptic=lambda key, nth: Turn(text)), "one")
    outcome = await run.run()
    assert getattr(outcome.findings, verdict) == 1, run.story()


async def test_two_verdicts_in_one_text_are_none(search):
    both = Turn('{"verdict": "stands", "reason": "a"} or {"verdict": "refuted", "reason": "b"}')
    answers = [both, judge("refuted")]
    sceptic = lambda key, nth: answers.pop(0)  # noqa: E731
    run = search(ModelByRole({"one": [report(ONE), NOTHING]}, sceptic=sceptic), "one")
    outcome = await run.run()
    assert (len(run.of("vote_cast")), outcome.findings.refuted) == (1, 1), run.story()


async def test_a_proposal_of_the_critic_is_read_from_its_text(search):
    lens = {"reason": "names", "lens": {"name": "names", "prompt": "look at the names"}}
    model = ModelByRole({"one": [NOTHING], "names": [NOTHING]}, critic=[Turn(fenced(lens)), Turn('{"reason": "none"}')])
    run = search(model, "one", critic=True)
    assert (await run.run()).complete, run.story()
    assert [event["name"] for event in run.of("lens_added")] == ["names"]
