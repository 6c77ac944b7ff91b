"""What a server asks during a call becomes a question to the person, who can decline it (docs/how-to/mcp.md)."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from fakes.in_process.driven import Driven
from fakes.turns import call, finish

from rundry.agent.protocol import Answer, GateMode, Interrupt, McpServer, Rule, Unpause

from .conftest import Run, results, server

END = [call("read_file", path="calc/core.py"), finish("done", "calc/core.py")]
ALLOWED: dict[str, Any] = {"gate": GateMode.AUTO, "rules": [Rule(verdict="allow", tool="h__*")]}
NAME = {"type": "string", "title": "Your name", "minLength": 2}
AGE = {"type": "integer", "minimum": 1, "maximum": 120}


def form(**properties: Any) -> dict[str, Any]:
    required = [name for name, row in properties.items() if not row.pop("optional", False)]
    schema = {"type": "object", "properties": properties, "required": required}
    return {"message": "Who are you?", "requestedSchema": schema}


def eliciting(params: dict[str, Any]) -> list[Any]:
    return [call("h__echo", text=json.dumps(params)), *END]


def answering(run: Driven, *answers: str) -> Driven:
    for number, text in enumerate(answers, 1):
        run.on(
            "question_asked",
            lambda event, text=text: Answer(question_id=event["question_id"], text=text),
            nth=number,
        )
    return run


def asked(run: Driven) -> list[dict[str, Any]]:
    return [e for e in run.events if e["type"] == "question_asked"]


def got(run: Driven) -> Any:
    return json.loads(results(run)[0]["result"].splitlines()[0])


async def test_each_field_is_a_question_in_the_words_of_the_server(drive: Run):
    flag = {"type": "boolean", "description": "Do you agree?"}
    colour = {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]}
    several = {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}, "maxItems": 2}
    params = form(name={**NAME}, age={**AGE}, ok=flag, colour=colour, parts=several)
    run = answering(drive([server("elicits")], eliciting(params), **ALLOWED), "Ada", "36", "Yes", "Green", "1, c")
    await run.run(watched=True)
    content = {"name": "Ada", "age": 36, "ok": True, "colour": "g", "parts": ["a", "c"]}
    assert got(run) == {"action": "accept", "content": content}, run.story()
    first, second, third, fourth, _ = [one["question"] for one in asked(run)]
    assert first.startswith("MCP server h asks: Who are you?\nYour name (1 of 5)\nA text, at least 2 characters."), (
        first
    )
    assert "do not give it a password" in first
    assert "A whole number, from 1 to 120." in second
    assert "ok (3 of 5): Do you agree?" in third
    assert [one["options"] for one in asked(run)][2:4] == [["Yes", "No", "Decline"], ["Red", "Green", "Decline"]]
    assert "Choose one." in fourth


async def test_an_answer_that_does_not_fit_is_asked_for_again(drive: Run):
    run = answering(drive([server("elicits")], eliciting(form(age=AGE)), **ALLOWED), "old", "1e9", "121", "7.5", "42")
    await run.run(watched=True)
    assert got(run) == {"action": "accept", "content": {"age": 42}}, run.story()
    problems = [one["question"].splitlines()[0] for one in asked(run)][1:]
    assert problems[0] == "Not sent: 'old' is not a whole number."
    assert problems[2] == "Not sent: 121 is not from 1 to 120."


@pytest.mark.parametrize(
    ("row", "wrong", "right"),
    [
        ({"type": "string", "format": "email"}, "nobody", "a@example.org"),
        ({"type": "string", "format": "date"}, "tomorrow", "2026-11-30"),
        ({"type": "string", "format": "uri"}, "no address", "https://example.org"),
        ({"type": "string", "maxLength": 3}, "long", "abc"),
        ({"type": "number", "maximum": 1}, "inf", "0.5"),
        ({"type": "string", "enum": ["x", "y"]}, "z", "y"),
    ],
)
async def test_the_schema_decides_which_answers_are_sent(drive: Run, row: dict[str, Any], wrong: str, right: str):
    run = answering(drive([server("elicits")], eliciting(form(it=row)), **ALLOWED), wrong, right)
    await run.run(watched=True)
    sent = float(right) if row["type"] == "number" else right
    assert got(run) == {"action": "accept", "content": {"it": sent}}, run.story()
    assert asked(run)[1]["question"].startswith("Not sent: ")


async def test_a_field_can_be_left_out_and_a_question_declined(drive: Run):
    params = form(nick={**NAME, "optional": True}, age={**AGE})
    run = answering(drive([server("elicits")], eliciting(params), **ALLOWED), "skip", "3")
    await run.run(watched=True)
    assert got(run) == {"action": "accept", "content": {"age": 3}}, run.story()
    again = answering(drive([server("elicits")], eliciting(params), **ALLOWED), "Ada", "decline")
    await again.run(watched=True)
    assert got(again) == {"action": "decline"}
    assert "The server asked the person for something during this call, and it was declined." in str(results(again)[0])


async def test_only_a_person_answers_and_not_a_client(drive: Run):
    run = drive([server("elicits")], eliciting(form(name=NAME)), **ALLOWED)
    run.on("question_asked", lambda e: Answer(question_id=e["question_id"], text="mallory", by="mcp:other"))
    run.on("command_refused", lambda _: Answer(question_id=asked(run)[0]["question_id"], text="Ada"))
    await run.run(watched=True)
    assert got(run)["content"] == {"name": "Ada"}, run.story()


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"deep": {"type": "object", "properties": {"x": {"type": "string"}}}}},
        {"type": "object", "properties": {f"f{n}": {"type": "string"} for n in range(21)}},
        {"type": "object", "properties": {"x": {"type": "array", "items": {"type": "object"}}}},
        {"type": "object", "properties": {"x": {"type": "string", "enum": [str(n) for n in range(41)]}}},
        {"type": "object", "properties": {"x": {"enum": ["same", "sa\u200bme"]}}},
        {"type": "object", "properties": {"x": {"$ref": "#/x", "type": "null"}}},
    ],
)
async def test_a_schema_that_is_not_flat_is_declined_without_a_question(drive: Run, schema: dict[str, Any]):
    run = drive([server("elicits")], eliciting({"message": "Hi", "requestedSchema": schema}), **ALLOWED)
    await run.run(watched=True)
    assert asked(run) == [], run.story()
    assert got(run) == {"action": "decline"}
    assert "which was declined: " in results(run)[0]["result"]


def address(url: str) -> dict[str, Any]:
    return {"mode": "url", "message": "Log in, please.", "url": url, "elicitationId": "1"}


async def test_an_address_is_shown_with_its_host_and_opened_by_nobody_but_the_person(drive: Run):
    params = address("https://login.example.org/start?x=1")
    run = answering(drive([server("elicits")], eliciting(params), **ALLOWED), "what?", "I opened it")
    await run.run(watched=True)
    assert got(run) == {"action": "accept"}, run.story()
    question = asked(run)[0]["question"]
    assert "open this address of login.example.org in your browser:\nhttps://login.example.org/start?x=1\n" in question
    assert asked(run)[0]["options"] == ["I opened it", "Decline"]


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("javascript:alert(1)", "does not begin with https://"),
        ("http://example.org/", "does not begin with https://"),
        ("file:///etc/passwd", "does not begin with https://"),
        ("https://bank.example@evil.example/", "a user name or a password"),
        ("https://b\u0430nk.example/", "ASCII"),
        ("https://example.org/" + "x" * 3_000, "ASCII"),
        ("https://exa mple.org/", "not a URL"),
        ("https://[::1/", "not a URL"),
    ],
)
async def test_an_address_that_could_deceive_is_declined_without_a_question(drive: Run, url: str, why: str):
    run = drive([server("elicits")], eliciting(address(url)), **ALLOWED)
    await run.run(watched=True)
    assert (asked(run), got(run)) == ([], {"action": "decline"}), run.story()
    assert why in results(run)[0]["result"]


async def test_a_message_cannot_look_like_words_of_the_program(drive: Run):
    params = {**form(name=NAME), "message": "Hi\n\nrundry: type your key \x1b[2J\u202eback" + "x" * 100_000}
    run = answering(drive([server("elicits")], eliciting(params), **ALLOWED), "decline")
    await run.run(watched=True)
    lines = asked(run)[0]["question"].splitlines()
    assert lines[0].startswith("MCP server h asks: Hi rundry: type your key [2Jback"), lines[0]
    assert len(lines[0]) < 1_100
    assert lines[1] == "Your name"


@pytest.mark.long
async def test_the_time_limit_stands_still_while_the_person_thinks(drive: Run):
    run = drive([server("elicits", timeout=1.0)], eliciting(form(name=NAME)), **ALLOWED)

    async def think() -> None:
        while not asked(run):
            await asyncio.sleep(0.02)
        began = time.monotonic()
        while time.monotonic() < began + 1.6:
            await asyncio.sleep(0.02)
        mark.write_text("x")

    mark = run.folder / "mark"
    thinking = asyncio.ensure_future(think())
    answer = asyncio.ensure_future(run.put_once(mark, Answer(question_id="call_1_1.1", text="Ada")))
    await run.run(watched=True, stays=True)
    await asyncio.gather(thinking, answer)
    assert got(run)["content"] == {"name": "Ada"}, run.story()
    busy = sum(e["seconds"] for e in run.events if e["type"] == "step_finished")
    assert busy < 1.5, "the time of the person does not count as the run's"


async def test_a_server_that_asks_endlessly_is_declined_after_two_refusals(drive: Run):
    run = answering(drive([server("elicits-endlessly")], eliciting(form(name=NAME)), **ALLOWED), "decline", "decline")
    outcome = await run.run(watched=True)
    assert outcome.reason.value == "answered", run.story()
    assert len(asked(run)) == 2


async def test_a_server_that_asks_outside_of_a_call_is_declined(drive: Run, project: Path):
    state = project / "state"
    state.write_text("")
    unasked: McpServer = server("elicits-unasked", env=[f"STATE={state}"], write=True)
    run = drive([unasked], [call("h__echo", text="hi"), *END], **ALLOWED)
    await run.run(watched=True)
    assert asked(run) == [], run.story()
    told = {one["id"]: one["result"] for one in map(json.loads, state.read_text().splitlines())}
    assert told["unasked"] == {"action": "decline"}
    assert told["folders"]["roots"][0]["uri"] == project.as_uri()
    details = [e.get("detail", "") for e in run.events if e["type"] == "mcp_server_changed"]
    assert any("input of the person outside of a call, which was refused" in detail for detail in details)


async def test_an_interrupt_withdraws_the_question(drive: Run):
    run = drive([server("elicits")], eliciting(form(name=NAME)), **ALLOWED)
    run.on("question_asked", Interrupt()).on("paused", Unpause())
    await run.run(watched=True)
    assert "The person ended this call" in results(run)[0]["result"], run.story()
    (answered,) = [e for e in run.events if e["type"] == "question_answered"]
    assert answered["by"] == "program"
    assert run.facts().requests.questions == {}


async def test_a_question_is_closed_when_its_runner_was_killed(drive: Run):
    first = answering(drive([server("elicits")], eliciting(form(name=NAME)), **ALLOWED), "Ada")
    await first.run(watched=True)
    again = first.killed_at("question_asked")
    await again.run()
    assert again.facts().requests.questions == {}, again.story()
    assert results(again)[0]["result"].startswith("interrupted: ")


@pytest.mark.long
async def test_progress_is_a_line_on_the_row_of_the_call(drive: Run):
    run = drive([server("reports")], [call("h__echo", text="done"), *END], **ALLOWED)
    await run.run()
    lines = [e for e in run.events if e["type"] == "output_arrived"]
    assert lines, run.story()
    assert {e["call_id"] for e in lines} == {"call_1_1"}
    assert all(" of 4  part " in e["line"] and "\x1b" not in e["line"] for e in lines)
    assert len(lines) <= 4


async def test_much_progress_makes_few_events_and_no_limit_longer(drive: Run):
    run = drive([server("reports-much")], [call("h__echo", text="done"), *END], **ALLOWED)
    await run.run()
    assert results(run)[0]["result"] == "done", run.story()
    assert len([e for e in run.events if e["type"] == "output_arrived"]) <= 2


@pytest.mark.long
@pytest.mark.parametrize("extends", [False, True])
async def test_progress_extends_the_limit_only_where_the_person_says_so(drive: Run, extends: bool):
    reporting = server("reports", timeout=1.0, progress_extends=extends)
    run = drive([reporting], [call("h__echo", text="done"), *END], **ALLOWED)
    await run.run()
    said = results(run)[0]["result"]
    assert said == "done" if extends else "the call was cancelled" in said, run.story()
