"""Plans as text: what a person edits, and what an answer in words proposes."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from rundry.agent.protocol.text.plan_text import (
    NO_STEPS,
    ONE_CHECK,
    Plan,
    plan_in_answer,
    plan_of,
    plan_text,
    read_plan,
)

PLAN = Plan(["Read calc/core.py.", "Return a + b in add()."], "pytest -q")


def test_the_text_of_a_plan_numbers_its_steps_and_ends_with_its_check():
    assert plan_text(PLAN) == "1. Read calc/core.py.\n2. Return a + b in add().\n\nCheck: pytest -q\n"
    assert plan_text(Plan(["Read."])) == "1. Read.\n\nCheck:\n"
    assert plan_text(Plan(["Read."]), has_check=False) == "1. Read.\n"


@given(steps=st.lists(st.text(max_size=60), max_size=12), check=st.text(max_size=40))
def test_a_plan_is_read_from_its_own_text_as_it_was(steps: list[str], check: str):
    plan = plan_of(steps, check)
    if isinstance(plan, Plan):
        assert read_plan(plan_text(plan)) == plan
        assert plan.lines
        assert plan.check is None or ("\n" not in plan.check and plan.check == plan.check.strip())


def test_an_edited_plan_may_have_other_marks_and_lines_that_continue_a_step():
    text = "- [x] one\n* two,\n  and more\n12) three\nfour\n\ncheck :  `make test`  \n\n"
    assert read_plan(text) == Plan(["one", "two, and more", "three", "four"], "make test")


@pytest.mark.parametrize("check", ["", " ", "none", "None", "-", "n/a", "``"])
def test_a_check_without_a_command_means_none(check: str):
    assert read_plan(f"1. one\nCheck: {check}\n") == Plan(["one"])


def test_a_plan_that_was_edited_to_nothing_is_refused():
    for text in ("", "\n\n", "Check: pytest -q\n", "1. \n2.\n- [ ]\n"):
        assert read_plan(text) == NO_STEPS, text


def test_a_check_of_several_lines_is_refused_with_the_way_out():
    for text in ("1. a\nCheck: make\nmake test\n", "1. a\nCheck: make\nCheck: pytest\n", "Check: make\n1. a\n"):
        assert read_plan(text) == ONE_CHECK, text
    assert plan_of(["a"], "make\nmake test") == ONE_CHECK


def test_a_numbered_list_in_words_is_a_plan_with_the_check_that_it_names():
    answer = (
        "I looked at the code.\n\n## Findings\n\n- add subtracts\n- mean is off\n\n## Plan\n\n"
        "1. Fix `add()` in calc/core.py:\n    - return a + b\n2. Fix `mean()`\n\n**Check:** `python3 -m unittest`\n"
    )
    steps = ["Fix `add()` in calc/core.py:; return a + b", "Fix `mean()`"]
    assert plan_in_answer(answer) == Plan(steps, "python3 -m unittest")


def test_the_last_list_counts_and_code_does_not():
    assert plan_in_answer("1. a\n2. b\n\nBetter:\n\n1. c\n2. d\n") == Plan(["c", "d"])
    assert plan_in_answer("```\n1. a\n2. b\n```\n") is None


def test_a_question_and_a_list_of_choices_are_not_a_plan():
    assert plan_in_answer("Which file do you mean?") is None
    assert plan_in_answer("Do you prefer:\n- one\n- two\n") is None
    assert plan_in_answer("1. only one step\n") is None
    assert plan_in_answer("- one\n- two\n\nCheck: make test\n") == Plan(["one", "two"], "make test")
