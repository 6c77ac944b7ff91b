"""What the standard output of a hook asks for."""

from __future__ import annotations

import json

import pytest

from rundry.agent.step.hooks.hook_output import LONGEST_CONTEXT, context_message, read_output


@pytest.mark.parametrize(
    ("printed", "refusal", "wrong"),
    [
        ({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}, "no", ""),
        ({"decision": "block", "reason": "later"}, "later", ""),
        ({"decision": "block"}, "", ""),
        ({"continue": False, "stopReason": "enough"}, "enough", ""),
        ({"hookSpecificOutput": {"permissionDecision": "allow"}}, None, ""),
        ({"decision": "approve", "continue": True, "suppressOutput": True, "unknown": [1]}, None, ""),
        ({"hookSpecificOutput": {"permissionDecision": "ask"}}, None, "permissionDecision = 'ask' is not one of allow"),
        ({"decision": ["block"]}, None, "decision = ['block'] is not one of approve, block"),
        ({"continue": "no"}, None, "continue = 'no' is not true or false"),
        ({"hookSpecificOutput": {"updatedInput": {}}}, None, "updatedInput changes a call"),
        ({"hookSpecificOutput": "deny"}, None, "hookSpecificOutput is not an object"),
        ({"systemMessage": 3}, None, "systemMessage is not a text"),
    ],
)
def test_json_refuses_as_elsewhere_and_what_cannot_be_obeyed_is_wrong(printed, refusal, wrong):
    read = read_output(json.dumps(printed).encode(), "before-tool")
    assert (read.refusal, read.wrong[: len(wrong)]) == (refusal, wrong) and bool(read.wrong) == bool(wrong)


def test_plain_text_is_context_where_a_conversation_begins_or_continues():
    for on, context in (("run-start", "a [b"), ("before-message", "a [b"), ("before-tool", ""), ("after-edit", "")):
        assert read_output(b" a [b\n", on).context == context
    assert read_output(b"{ not json", "run-start").context == "{ not json"
    assert read_output(b'["a"]', "run-start").context == '["a"]'


def test_context_stands_at_the_top_or_where_other_programs_read_it():
    inner = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": " inner "}}
    assert read_output(json.dumps(inner).encode(), "before-tool").context == "inner"
    assert read_output(b'{"additionalContext": "outer"}', "after-edit").context == "outer"
    assert read_output(b'{"additionalContext": "late", "systemMessage": "bye"}', "run-end").context == ""


def test_texts_are_limited_and_have_no_control_or_half_characters():
    long = read_output(b"x" * 50_000, "run-start").context
    assert len(long) < LONGEST_CONTEXT + 50 and long.endswith("more characters]")
    assert read_output(b'{"systemMessage": "a\\u001b[31mb\\ud83d"}', "run-end").notice == "ab?"
    assert "print less" in read_output(b"{" + b"x" * 100, "run-start", dropped=5).wrong
    assert read_output(b"[" * 200_000, "run-start").wrong == ""
    assert read_output(b'{"a":' * 100_000, "before-tool").wrong == ""


def test_the_message_names_its_hook_in_one_short_line():
    head, _, rest = context_message("run-start", "echo a\n" + "b" * 500, "the context").partition("\n")
    assert head.startswith("The hook `echo a bbb") and head.endswith("(run-start) adds:") and len(head) < 130
    assert rest == "the context"
