"""Images in results of MCP servers reach a model that takes images; else a line says why not."""

from __future__ import annotations

from typing import Any

import pytest
from fakes.in_process.driven import Driven
from fakes.models.model import ScriptedModel
from fakes.turns import Call, call, calls, finish

from .conftest import Run, results, server
from .test_changed_lists import ALLOWED

END = [call("read_file", path="calc/core.py"), finish("done", "calc/core.py")]


def drawing(*texts: str) -> list[Any]:
    return [calls(*(Call("h__echo", {"text": text}) for text in texts)), *END]


def seeing(run: Driven, *, sees: bool | None = True) -> Driven:
    run.model = ScriptedModel(run.model.turns, sees_images=sees)  # type: ignore[arg-type]
    return run


def shown(run: Driven, request: int = 1) -> list[Any]:
    return [image for message in run.model.requests[request].messages for image in message.images]


@pytest.mark.parametrize("sees", [True, None])
async def test_images_follow_the_results_of_an_answer_in_one_message(drive: Run, sees: bool | None):
    run = seeing(drive([server("images")], drawing("image", "words", "image"), **ALLOWED), sees=sees)
    outcome = await run.run()
    assert outcome.reason.value == "answered", run.story()
    roles = [message.role for message in run.model.requests[1].messages]
    assert roles[-5:] == ["assistant", "tool", "tool", "tool", "user"], run.story()
    last = run.model.requests[1].messages[-1]
    assert "they come from MCP servers, not the person" in last.text
    assert [(one.name, one.media, one.width, one.height) for one in last.images] == [
        ("h__echo 1", "image/png", 3, 2)
    ] * 2
    assert {one.sha for one in last.images} <= {*run.model.requests[1].blobs}
    assert "image 1, shown after the results" in results(run)[0]["result"]
    assert results(run)[0]["summary"] == "2 lines, 1 image"
    run.assert_legal()


async def test_images_are_shown_after_a_kill_between_two_results(drive: Run):
    first = seeing(drive([server("images")], drawing("image", "image"), **ALLOWED))
    await first.run()
    again = first.killed_at("tool_finished")
    again.model = ScriptedModel(END, sees_images=True)
    await again.run()
    assert len(shown(again, 0)) == 2, again.story()
    again.assert_legal()


async def test_a_model_without_images_reads_why_it_gets_none(drive: Run):
    run = seeing(drive([server("images")], drawing("image"), **ALLOWED), sees=False)
    await run.run()
    assert shown(run) == []
    assert "not shown, because scripted does not accept images" in results(run)[0]["result"]


@pytest.mark.parametrize(
    ("text", "count", "why"),
    [
        ("many", 8, "because a result has at most 8 images"),
        ("large", 0, "because an image has at most 5 MB"),
        ("damaged", 0, "because it is damaged"),
        ("svg", 0, "because it is SVG, not PNG, JPEG, GIF or WebP"),
        ("odd", 0, "because it is not base64"),
    ],
)
async def test_images_have_the_limits_of_those_of_a_person(drive: Run, text: str, count: int, why: str):
    run = seeing(drive([server("images")], drawing(text), **ALLOWED))
    outcome = await run.run()
    assert outcome.reason.value == "answered", run.story()
    assert len(shown(run)) == count
    assert why in results(run)[0]["result"]


async def test_a_result_with_an_image_of_ten_megabytes_ends_the_server_and_not_the_run(drive: Run):
    run = seeing(drive([server("images")], drawing("endless"), **ALLOWED))
    outcome = await run.run()
    assert outcome.reason.value == "answered", run.story()
    assert "it sent a line of more than 8,000,000 bytes" in results(run)[0]["result"]
    assert shown(run) == []
