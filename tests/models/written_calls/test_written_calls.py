"""Calls and reasoning that a model writes into its text are read only where they are meant."""

from __future__ import annotations

import time

import pytest
from fakes.providers.written_calls import FAMILIES, TOOLS, read, read_pieces, spec
from hypothesis import given, settings, strategies as st
from sampling import examples

from rundry.agent.models.written_calls.call_reader import CallReader
from rundry.agent.protocol import TextPart

READ = ("read_file", {"path": "a.py"})
CALL = '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_call>'
HARMONY = '<|channel|>commentary to=functions.read_file<|message|>{"path": "a.py"}'
FUNCTION = "<function=read_file><parameter=path>a.py</parameter></function>"
VALUE = "<tool_call>\n<function=write_file>\n<parameter=content>\n{}\n</parameter>\n</function>\n</tool_call>"


def same(text: str) -> tuple[str, str, list]:
    """What is read of the text, however it is split."""
    whole = read(text)
    for size in (1, 2, 7):
        assert read(text, size) == whole, size
    return whole


@pytest.mark.parametrize(
    ("text", "said", "thought", "calls"),
    [
        ("plain", "plain", "", []),
        ("", "", "", []),
        (" \n ", " \n ", "", []),
        ("<think>hm\nso</think>\n\nYes.", "Yes.", "hm\nso", []),
        ("  \n<think>a < b</think>Yes <b>", "Yes <b>", "a < b", []),
        ("Yes <think>no</think>", "Yes <think>no</think>", "", []),
        ("<think>never closed", "", "never closed", []),
        ("[THINK]a[/THINK]b", "b", "a", []),
        ("<|channel>thought\n<channel|>b", "b", "", []),
        (f"I read.\n{CALL}\n", "I read.\n", "", [READ]),
        (f"I read.{CALL}", "I read.", "", [READ]),
        (f"{CALL}\nDone.", "Done.", "", [READ]),
        (f"<think>x</think>{CALL}\nDone.", "Done.", "x", [READ]),
        (f"thoughts\n</think>{CALL}", "thoughts\n</think>", "", [READ]),
        (f"{CALL}\n{CALL}<|im_end|>", "", "", [READ, READ]),
        (f"  ~~~\n{CALL}\n  ~~~\n{CALL}", f"  ~~~\n{CALL}\n  ~~~\n", "", [READ]),
        (f"{CALL}\n<tool_call>oops", "<tool_call>oops", "", [READ]),
        ('<tool_call>{"name": "read_file"}</tool_call>', "", "", [("read_file", {})]),
        (CALL.replace("a.py", "a\nb"), "", "", [("read_file", {"path": "a\nb"})]),
        ('<tool_call>{"name": "read_file", "arguments": "{\\"path\\": \\"a.py\\"}"}</tool_call>', "", "", [READ]),
        ('{"type": "function", "function": "read_file", "parameters": {"path": "a.py"}}', "", "", [READ]),
        ('{"function": {"name": "read_file", "arguments": {"path": "a.py"}}}', "", "", [READ]),
        ('{"name": "read_file", "arguments": {"path": "a.py"}}\n\nThis reads it.', "This reads it.", "", [READ]),
        (f"<seed:tool_call>{FUNCTION}</seed:tool_call>", "", "", [READ]),
        ('<|tool_call|>{"name": "read_file", "arguments": {"path": "a.py"}}<|/tool_call|>', "", "", [READ]),
        ('<function=read_file>\n<parameter=path>\na.py\n</parameter>\n</function>\n</tool_call>', "", "", [READ]),
    ],
)  # fmt: skip
def test_a_written_call_is_read_where_it_is_meant(text, said, thought, calls):
    assert same(text) == (said, thought, calls)


@pytest.mark.parametrize(
    "text",
    [
        f"I read.\n{CALL}\nDone.",
        f"The file begins so:\n\n{CALL}\n\nIt wants me to read another file, which I will not do.",
        f"```xml\n{CALL}\n```\nso",
        f"```xml\n{CALL}\n",
        f"````\n```\n{CALL}",
        f"````\nx\n```\n{CALL}",
        f"```\nx\n~~~\n{CALL}",
        f"- like this:\n  ```\n  x\n{CALL}",
        f"1. ```\n{CALL}",
        f"as in {CALL}",
        f"as in `x. {CALL}`",
        f"`a.{CALL}",
        f"> {CALL}",
        f"> said.{CALL}",
        f"a list\n\n    {CALL}",
        f"a list\n\n\t{CALL}",
        f"the tag <tool_call>\n{CALL}",
        "the tag <tool_call>\n<function=read_file></function>",
        "<tool_call>not json</tool_call>!",
        '<tool_call>{"name": "rm"}</tool_call>',
        '<tool_call>{"name": "read_file", "arguments": [1]}</tool_call>',
        '<tool_call>{"name": "read_file", "arguments": "a.py"}</tool_call>',
        '<tool_call>{"name": "read_file", "arguments": {"limit": NaN}}</tool_call>',
        '<tool_call>{"name": "write_file", "arguments": {"path": "\\ud800"}}</tool_call>',
        CALL[:-4],
        "<table>\n``quoted``\n<",
        '{"name": "read_file"}',
        '{"name": "read_file", "arguments": {"path": "a.py"}} is what I would write.',
        '{"name": "read_file", "arguments": {"path": "a.py"}}; ',
        '[{"name": "read_file", "arguments": {"path": "a.py"}}]',
        '{"path": "a.py", "name": "read_file", "arguments": {}}',
        'So:\n{"name": "read_file", "arguments": {"path": "a.py"}}',
        '```json\n{"name": "read_file", "arguments": {"path": "a.py"}}\n```\nThat is how a call looks.',
        '```json\n{"name": "read_file", "arguments": {"path": "a.py"}}\n{}\n```',
        '```json\n{"name": "read_file", "arguments": {}}\n```\n```json\n{"name": "read_file", "arguments": {}}\n```',
        '```json\n{"name": "read_file"}\n```',
        "```tool_code\nprint(1)\n```",
        "```tool_code\nimport os\nread_file(path='a')\n```",
        "```tool_code\nread_file(path=input())\n```",
        "```tool_code\nread_file(**{'path': 'a'})\n```",
        "```tool_code\nx.read_file(path='a')\n```",
        "The word functools[0] and [TOOL_CALLS] and <|python_tag|> are words.",
        "See <|channel|>analysis<|message|>here<|end|>.",
        f"See.\n{HARMONY}\nSo.",
        f"Quoted: {HARMONY}",
        '<|channel|>commentary to=browser.search<|message|>{"query": "x"}',
        "<|tool_calls_section_begin|><|tool_calls_section_end|>",
        "<tool_calls></tool_calls>",
        "<tool_call>[]</tool_call>",
    ],
)
def test_what_is_not_a_call_stays_the_text_that_it_is(text):
    assert same(text) == (text, "", [])


@pytest.mark.parametrize(
    ("text", "said", "thought", "calls"),
    [
        ("<|channel|>final<|message|>Yes <|end|> no.<|return|>", "Yes <|end|> no.", "", []),
        ("<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>Yes", "Yes", "Hm", []),
        (f"<|channel|>commentary<|message|>I read.<|end|><|start|>assistant{HARMONY}<|call|>", "I read.", "", [READ]),
        (
            'to=functions.read_file<|channel|>analysis <|constrain|>json<|message|>{"path": "a.py"}<|end|>',
            "",
            "",
            [READ],
        ),
        (f"{HARMONY}<|call|><|start|>assistant<|channel|>final<|message|>Done", "Done", "", [READ]),
        (f"<|channel|>final<|message|>It says <|end|><|start|>assistant{HARMONY} there.", None, "", []),
        ("<|channel|>final<|message|>```\n<|end|>\n```", "```\n<|end|>\n```", "", []),
    ],
)
def test_harmony_messages_become_reasoning_text_and_calls(text, said, thought, calls):
    seen = same(text)
    assert seen[1:] == (thought, calls)
    assert said is None or seen[0] == said


def test_a_value_that_holds_its_own_closing_tags_is_never_cut_short():
    value = "</parameter>\n</function>\n</tool_call>"
    text = VALUE.format(f"a{value}b")
    assert same(text) == (text, "", [])


def test_a_call_that_is_quoted_within_an_argument_is_only_an_argument():
    text = VALUE.format(CALL)
    assert same(text) == ("", "", [("write_file", {"content": CALL})])


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("False", False), ("yes", "yes"), ("1", "1")],
)
def test_an_untyped_value_gets_the_type_of_the_schema_or_stays_a_text(text, value):
    call = FAMILIES["qwen3-coder"].write([("run_command", {"background": text})])
    assert read(call)[2] == [("run_command", {"background": value})]


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "integer"}, " 12 ", 12),
        ({"type": "number"}, "1e3", 1000.0),
        ({"type": "integer"}, "1.5", "1.5"),
        ({"type": ["number", "null"]}, "null", None),
        ({"type": "string"}, "null", "null"),
        ({"type": "string"}, "12", "12"),
        ({"type": ["string", "null"]}, "null", None),
        ({"anyOf": [{"type": "array"}, {"type": "null"}]}, '["a"]', ["a"]),
        ({"enum": ["1", "2"]}, "1", "1"),
        ({"enum": [1, 2]}, "1", 1),
        ({"type": "object"}, '{"a": 1}', {"a": 1}),
        ({"type": "object"}, "{'a'", "{'a'"),
        ({}, "12", "12"),
    ],
)
@pytest.mark.parametrize("family", ["qwen3-coder", "glm 4.5", "minimax m2"])
def test_values_are_converted_by_the_schema(family, schema, text, value):
    tool = spec("write_file")
    tool.parameters["properties"]["content"] = schema
    call = FAMILIES[family].write([("write_file", {"content": text})])
    assert read(call, tools=[tool])[2] == [("write_file", {"content": value})]


def test_text_is_not_held_back_while_a_line_continues():
    reader = CallReader(TOOLS)
    assert reader.feed("Hello") == [TextPart("Hello")]
    assert reader.feed(" wor<") == [TextPart(" wor<")]
    assert reader.feed("\n<tool") == [TextPart("\n")]
    assert reader.feed("box>") == [TextPart("<toolbox>")]
    assert reader.feed("\n<tool_call> is a") == [TextPart("\n<tool_call> is a")]
    assert reader.feed("\n```json\n{") == [TextPart("\n")]
    assert reader.feed('"id"') == [TextPart('```json\n{"id"')]


PIECES = st.sampled_from(
    [CALL, HARMONY, VALUE, "\n", " ", "text", ".", "```", "```json\n", "<think>", "</think>", "<tool_call>", "{", "`"]
    + [family.write([READ]) for family in FAMILIES.values()]
    + [family.write([READ])[:-3] for family in FAMILIES.values()]
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(PIECES, max_size=8), st.data())
def test_every_split_reads_the_same_and_nothing_is_lost(pieces, data):
    text = "".join(pieces)
    whole = read(text)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    assert read_pieces([text[i:j] for i, j in zip([0, *cuts], [*cuts, len(text)], strict=True)]) == whole
    assert read(text, 1) == whole
    if not whole[2] and not whole[1] and "<|" not in text and "think>" not in text:
        assert whole[0] == text


MEGA = 1_000_000
LONG = {
    "prose": "Some words of prose.\n" * (5 * MEGA // 21),
    "brackets": "[" * 5 * MEGA,
    "openers": "<tool_call>\n" * (5 * MEGA // 12),
    "an open call": CALL[:40] + "x" * 5 * MEGA,
    "an open fence": "```json\n{" + '"name"' * MEGA,
    "closing tags": VALUE[:-40] + "</parameter>" * (5 * MEGA // 12),
    "deep json": CALL.replace('"a.py"', "[" * 100_000 + "]" * 100_000),
    "deep gemma": "<|tool_call>call:read_file{path:" + "[" * 100_000 + "}<tool_call|>",
    "deep python": "```tool_code\nread_file(" + "(" * 100_000 + ")" * 100_000 + ")\n```",
    "unary python": "```tool_code\nread_file(" + "-" * 100_000 + "1)\n```",
    "one line": "word " * (4 * MEGA),
    "more than a call may have": CALL.replace("a.py", "x" * 17 * MEGA),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
def test_a_long_text_that_is_not_a_call_stays_whole(text):
    assert read(text, 20_000) == read(text) == (text, "", [])


@pytest.mark.parametrize("family", ["hermes", "qwen3-coder", "gpt-oss"])
def test_a_call_of_ten_megabytes_is_read(family):
    call = ("write_file", {"path": "a.py", "content": "a <b>\n" * (10 * MEGA // 6)})
    assert read(FAMILIES[family].write([call]), 20_000) == ("", "", [call])


def test_a_deep_value_is_left_to_the_validation():
    call = FAMILIES["qwen3-coder"].write([("run_command", {"env": "[" * 100_000})])
    assert read(call)[2] == [("run_command", {"env": "[" * 100_000})]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["prose", "an open call", "closing tags", "openers"])
def test_the_processor_time_grows_with_the_length_and_not_with_its_square(kind):
    text = LONG[kind]

    def seconds(part: str) -> float:
        begun = time.process_time()
        read(part, 7)
        return time.process_time() - begun

    short = seconds(text[: len(text) // 20])
    assert seconds(text[: len(text) // 2]) < 60 * short
