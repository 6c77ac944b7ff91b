"""Calls in tags that are about tools, functions or calls, however a weak model spells the tag and what it holds."""

from __future__ import annotations

import json

import pytest
from fakes.providers.written_calls import TOOLS, read, read_pieces

from rundry.agent.models.written_calls.call_reader import CallReader
from rundry.agent.models.written_calls.call_tags import is_about_calls
from rundry.agent.protocol import TextPart

READ = ("read_file", {"path": "a.py"})
WRITE = ("write_file", {"path": "b.py", "content": 'it\'s "x"\n<b> & {'})
RUN = ("run_command", {"command": "ls", "background": True})
TAGS = (
    "tools",
    "tool_call",
    "tool_calls",
    "function_call",
    "functions",
    "toolCall",
    "ToolUse",
    "CALLS",
    "a:tool-calls",
)


def same(text: str) -> tuple[str, str, list]:
    """What is read of the text, however it is split."""
    whole = read(text)
    for size in (1, 2, 5):
        assert read(text, size) == whole, size
    return whole


def one(call: tuple, key: str = "arguments") -> str:
    return json.dumps({"name": call[0], key: call[1]})


LINES = f"{one(READ)}\n{one(WRITE)}\n{one(RUN)}"
ARRAY = f"[{one(READ)}, {one(WRITE)},\n{one(RUN)}]"
COMMAS = f"{one(READ)},\n{one(WRITE)},\n{one(RUN)}"
PARAMETERS = "\n".join(one(call, "parameters") for call in (READ, WRITE, RUN))
TEXTS = "\n".join(json.dumps({"tool": c[0], "args": json.dumps(c[1])}) for c in (READ, WRITE, RUN))
FLAT = "\n".join(json.dumps({"name": c[0], **c[1]}) for c in (READ, WRITE, RUN))
WRAPPED = json.dumps({"tool_calls": [{"type": "function", "function": json.loads(one(c))} for c in (READ, WRITE, RUN)]})
KEYED = "\n".join(json.dumps({c[0]: c[1]}) for c in (READ, WRITE, RUN))
FENCED = f"```json\n{ARRAY}\n```"
NESTED = "\n".join(f"<call>{one(c)}</call>" for c in (READ, WRITE, RUN))
UNCLOSED = "\n<tool_call>\n".join(one(c) for c in (READ, WRITE, RUN))


def attribute(call: tuple, style: str) -> str:
    plain = json.dumps(call[1])
    escaped = json.dumps(plain)
    entity = plain.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return {
        "single": f"<function name=\"{call[0]}\" arguments='{plain}'/>",
        "double, unescaped": f'<function name="{call[0]}" arguments="{plain}"/>',
        "double, escaped": f'<function name="{call[0]}" arguments={escaped} />',
        "double, entities": f"<function name='{call[0]}' arguments=\"{entity}\"></function>",
        "not closed": f"<function name='{call[0]}' arguments='{plain}'>",
        "other names": f"<invoke tool='{call[0]}'  parameters = '{plain}' id='1'/>",
        "tag with the name": f"<call={call[0]} args='{plain}'/>",
        "body": f'<function name="{call[0]}">\n{plain}\n</function>',
        "fenced body": f'<function name="{call[0]}">\n```json\n{plain}\n```\n</function>',
        "wrapped body": f'<function={call[0]}>{{"arguments": {plain}}}</function>',
        "one child": f"<function={call[0]}><arguments>{plain}</arguments></function>",
        "name as a child": f"<function><name>{call[0]}</name>\n<arguments>{plain}</arguments></function>",
        "children": f"<function name='{call[0]}'>"
        + "".join(f"<{k}>{v if isinstance(v, str) else json.dumps(v)}</{k}>" for k, v in call[1].items())
        + "</function>",
        "parameters": f'<function name="{call[0]}">'
        + "".join(
            f'<param name="{k}">{v if isinstance(v, str) else json.dumps(v)}</param>\n' for k, v in call[1].items()
        )
        + "</function>",
    }[style]


BODIES = {
    "lines": LINES, "array": ARRAY, "commas": COMMAS, "parameters": PARAMETERS, "texts": TEXTS, "flat": FLAT,
    "wrapped": WRAPPED, "keyed": KEYED, "fenced": FENCED, "nested": NESTED, "unclosed": UNCLOSED,
}  # fmt: skip
ENDING = ("one child", "name as a child", "children", "parameters")
"""Forms that cannot escape their own closing tag. They count only at the end of an answer."""
STYLES = (
    "single", "double, unescaped", "double, escaped", "double, entities", "not closed", "other names",
    "tag with the name", "body", "fenced body", "wrapped body", *ENDING,
)  # fmt: skip


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_several_calls_in_one_tag_are_read_in_their_order(tag, body):
    for text in (f"<{tag}>\n{body}\n</{tag}>", f"<{tag}>{body}</{tag}>\n"):
        assert same(text) == ("", "", [READ, WRITE, RUN])


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_the_closing_tag_may_be_missing_at_the_end_of_an_answer_or_belong_to_another_tag(body):
    for ending in ("", "\n", "<|im_end|>", "</tool>", "\n</tool>\n"):
        assert same(f"I read them.\n<tools>\n{body}{ending}") == ("I read them.\n", "", [READ, WRITE, RUN])


@pytest.mark.parametrize("style", STYLES)
def test_a_tag_that_names_the_tool_is_read_with_arguments_in_every_form(style):
    for call in (READ, WRITE, RUN):
        text = attribute(call, style)
        assert same(text) == ("", "", [call])
        assert same(f"So.\n{text}") == ("So.\n", "", [call])
        assert same(f"{text}\nSo.")[1:] == ("", [call] if style not in ENDING else [])
        assert same(f"Look:\n{text}\nThat is it.")[2] == []
    several = "\n".join(attribute(call, style) for call in (READ, WRITE, RUN))
    assert same(f"<tools>\n{several}\n</tools>") == ("", "", [READ, WRITE, RUN])
    if style != "not closed":
        assert same(several) == ("", "", [READ, WRITE, RUN])


@pytest.mark.parametrize("style", STYLES)
def test_every_split_of_a_call_reads_the_same(style):
    text = f"<tools>\n{attribute(WRITE, style)}\n</tools>"
    for at in range(len(text)):
        assert read_pieces([text[:at], text[at:]]) == ("", "", [WRITE]), at


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("<function name='read_file' path='a.py'/>", [READ]),
        ("<function=read_file path=\"a.py\" limit='3'/>", [("read_file", {"path": "a.py", "limit": 3})]),
        ("<tool name=read_file arguments=\"{'path': 'a.py'}\"/>", [READ]),
        ("<tool_call>read_file\n{\"path\": \"a.py\"}\n</tool_call>", [READ]),
        ("<function=\"read_file\"><parameter=\"path\">a.py</parameter></function>", [READ]),
        ('<function name="run_command"/>', [("run_command", {})]),
        ('```\n{"name": "read_file", "arguments": {"path": "a.py"}}\n```', [READ]),
        (f"I do it:\n```json\n{LINES}\n```\n", [READ, WRITE, RUN]),
        (f"I do it:\n```tool_calls\n{ARRAY}\n```", [READ, WRITE, RUN]),
        ('{"tool": "read_file", "args": {"path": "a.py"}}', [READ]),
        ('{"function_name": "read_file", "parameters": {"path": "a.py"}}', [READ]),
        (WRAPPED, [READ, WRITE, RUN]),
    ],
)  # fmt: skip
def test_more_spellings_of_the_kind_are_read(text, calls):
    assert same(text)[1:] == ("", calls)


DEFINITION = json.dumps(
    {
        "type": "function",
        "function": {"name": "read_file", "description": "Reads.", "parameters": TOOLS[0].parameters},
    }
)


@pytest.mark.parametrize(
    "text",
    [
        f"<tools>\n{DEFINITION}\n</tools>",
        f"<tools>\n{one(READ)}\n{DEFINITION}\n</tools>",
        f"<tools>\n{one(READ)}\n{one(('delete_all', {}))}\n</tools>",
        f"<tools>\n{one(READ)}\n</tools",
        f"<tools>\n{one(READ)}\nand so on",
        f"```xml\n<tools>\n{LINES}\n</tools>\n```",
        f"```\n<tools>\n{LINES}\n</tools>\n```\n",
        f"The form is\n<tools>\n{LINES}\n</tools>\nas you see.",
        f"the tag <tools>\n{LINES}\n</tools>",
        f"<tool_response>\n{LINES}\n</tool_response>",
        f"<toolbox>\n{LINES}\n</toolbox>",
        f"<svg><use>{LINES}</use></svg>",
        "<tools></tools>",
        "<tools/>",
        "<function name='delete_all' arguments='{}'/>",
        "<function name='read_file' arguments='{\"path\"'/>",
        "<function name='read_file' arguments='[1]'/>",
        '<function name=\'read_file\' arguments=\'{"path": "a.py"}',
        "<function name='read_file'",
        "<function name='read_file'><path>a.py</path>",
        "<function name='read_file'><path>a.py</path></invoke>",
        '<tools>{"function": "rm", "arguments": {"name": "read_file", "arguments": {}}}</tools>',
        '<tools>{"path": "read_file"}</tools>',
        "<tools>" * 20 + one(READ),
        f"```json\n[{DEFINITION}]\n```",
        f"```json\n{DEFINITION}\n```",
        f"```json\n{one(READ)}\n```\nThat is how.",
        f"```python\n{one(READ)}\n```",
        '{"query": {"name": "read_file", "arguments": {"path": "a.py"}}}',
    ],
)
def test_a_definition_a_quote_or_an_unfinished_tag_stays_text(text):
    assert same(text) == (text, "", [])


@pytest.mark.parametrize(
    ("name", "about"),
    [
        *((tag, True) for tag in TAGS),
        *((tag, True) for tag in ("tool", "function", "invoke", "use_tool", "minimax:tool_call", "func", "TOOLCALL")),
        *(
            (tag, False)
            for tag in ("toolbox", "callout", "tool_result", "tool_name", "use", "function_id", "p", "code")
        ),
    ],
)
def test_the_words_of_a_tag_say_whether_it_is_about_calls(name, about):
    assert is_about_calls(name) == about


def test_other_tags_are_shown_as_soon_as_their_name_has_ended():
    reader = CallReader(TOOLS)
    assert reader.feed("<function") == []
    assert reader.feed("al>\n") == [TextPart("<functional>\n")]
    assert reader.feed("<div class") == [TextPart("<div class")]
    assert reader.feed("=x>\n<tool") == [TextPart("=x>\n")]
    assert reader.feed("s> are ") == [TextPart("<tools> are ")]
