"""The steps of a plan, as models write them."""

from __future__ import annotations

import pytest

from rundry.agent.protocol.text.plan_lines import line_of, plan_steps, plan_summary


@pytest.mark.parametrize(
    ("line", "text", "state"),
    [
        ("[x] read", "read", "done"),
        ("- [X] read", "read", "done"),
        ("* [ ] read", "read", "open"),
        ("[] read", "read", "open"),
        ("[>] read", "read", "doing"),
        ("- [in progress] read", "read", "doing"),
        ("[In-Progress] read", "read", "doing"),
        ("2. [done] read", "2. read", "done"),
        ("[x]read\n  more", "read more", "done"),
        ("read", "read", "open"),
        ("2. read", "2. read", "open"),
        ("[-] read", "[-] read", "open"),
        ("[a link](x) read", "[a link](x) read", "open"),
        ("- read", "- read", "open"),
    ],
)
def test_the_mark_at_the_start_of_a_line_is_the_state_of_its_step(line: str, text: str, state: str):
    assert plan_steps([line]) == [(text, state)]


def test_blank_lines_are_not_steps_and_the_summary_counts_what_is_done():
    steps = plan_steps(["[x] a", "", "[>] b", "  ", "c"])
    assert plan_summary(steps) == "1 of 3 done"


@pytest.mark.parametrize(
    ("step", "state"),
    [
        ({"text": "read", "state": "done"}, "done"),
        ({"step": "read", "status": "in_progress"}, "doing"),
        ({"content": "read", "status": "completed", "priority": "high", "id": 3}, "done"),
        ({"content": "read", "status": "pending"}, "open"),
        ({"text": "read"}, "open"),
    ],
)
def test_a_step_as_an_object_of_this_tool_or_of_others_is_a_line(step: dict[str, object], state: str):
    assert plan_steps([line_of(step)]) == [("read", state)]


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ({"state": "done"}, "no `text`"),
        ({"text": 3}, "no `text`"),
        ({"text": "read", "state": "cancelled"}, "'cancelled' of a step is not known: use `done`, `doing` or `open`"),
        ({"text": "read", "state": 1}, "the state 1 of a step"),
    ],
)
def test_an_object_that_is_not_a_step_says_what_is_wrong(step: dict[str, object], says: str):
    with pytest.raises(ValueError, match=r".") as found:
        line_of(step)
    assert says in str(found.value)
