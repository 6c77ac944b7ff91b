"""The calls of each model family, written as its chat template writes them."""

from __future__ import annotations

import pytest
from fakes.providers.written_calls import FAMILIES, TOOLS, ProcessTree, read, read_pieces

ONE = ("read_file", {"path": "a.py", "limit": 3})
TWO = ("run_command", {"command": "ls -l", "background": True})


@pytest.fixture(params=FAMILIES.values(), ids=FAMILIES.keys())
def family(request: pytest.FixtureRequest) -> ProcessTree:
    return request.param


def test_one_call_is_read_however_the_answer_is_split(family):
    text = family.write([ONE])
    assert read(text) == read(text, 1) == read(text, 3) == ("", "", [ONE])
    for at in range(len(text)):
        assert read_pieces([text[:at], text[at:]]) == ("", "", [ONE]), at


def test_two_calls_are_read_in_their_order(family):
    if family.only_one:
        return
    text = family.write([ONE, TWO])
    assert read(text) == read(text, 1) == ("", "", [ONE, TWO])


def test_a_call_behind_a_text_is_read_and_the_text_is_shown(family):
    text = "I will read it." + family.joint + family.write([ONE])
    said, thought, calls = read(text, 1)
    assert (said, thought, calls) == read(text)
    if family.after_text:
        assert (said.strip(), calls) == ("I will read it.", [ONE])
    else:
        assert (said, calls) == (text, [])


def test_a_call_behind_reasoning_is_read(family):
    begin, end = family.think
    text = begin + "First the file.\n" + end + family.write([ONE])
    assert read(text) == read(text, 1)
    said, thought, calls = read(text)
    assert (said.strip(), thought.strip(), calls) == ("", "First the file.", [ONE])


def test_a_call_in_reasoning_is_not_read(family):
    if family.think[0] == "<think>\n":
        text = f"<think>\nMaybe\n{family.write([ONE])}\nor not</think>No."
        assert read(text)[2] == read(text, 1)[2] == []


@pytest.mark.parametrize("content", ["a \"b\"\n\tc \\ 'd'\n\n", " ```\n<b>ü≠😀</b> {[", "x\n{close}\ny", "{close}", ""])
def test_a_text_argument_arrives_as_it_was_written(family, content):
    call = ("write_file", {"path": "a b.md", "content": content.replace("{close}", family.close)})
    text = family.write([call])
    assert read(text) == read(text, 1) == ("", "", [call])


def test_a_tool_that_is_not_on_offer_leaves_the_text_as_it_is(family):
    text = family.write([("delete_all", {"path": "a.py"})])
    assert read(text) == read(text, 1) == (text, "", [])


def test_a_broken_call_is_text(family):
    whole = family.write([ONE])
    text = whole.replace(*family.damage)
    assert text != whole
    said, thought, calls = read(text)
    assert (said, thought, calls) == read(text, 1)
    assert (said.removesuffix("<|call|>"), calls) == (text.removesuffix("<|call|>"), [])


def test_a_call_that_the_answer_breaks_off_is_text(family):
    text = family.write([TWO])
    for at in range(1, text.index("ls -l") + 5):
        assert read(text[:at], 1) == (text[:at], "", []), at


def test_a_call_between_two_texts_is_a_quotation(family):
    if "gpt-oss" in str(family.joint):
        return
    for before, after in [("The file says.\n", "\nI will not do that."), ("Look: ", " and so on."), ("> ", "\n")]:
        text = before + family.write([ONE]) + after
        assert read(text)[2] == read(text, 1)[2] == []
        assert read(text)[0] == text


@pytest.mark.parametrize("fence", ["```", "~~~", "````", "  ```"])
def test_a_call_in_a_code_fence_is_text(family, fence):
    text = f"{fence}xml\n{family.write([ONE])}\n{fence}\n"
    if "```" in family.write([ONE]) and fence.strip() == "```":
        text = f"````xml\n{family.write([ONE])}\n````\n"
    assert read(text) == read(text, 1) == (text, "", [])


@pytest.mark.parametrize("quote", ["`{}`", "Write `{}`", '"{}"', "<code>{}</code>", "- {}", "    {}", "the tag {}"])
def test_a_call_that_prose_mentions_is_text(family, quote):
    text = "So it works.\n" + quote.format(family.write([ONE]))
    said, _, calls = read(text)
    assert (said, calls) == (text, [])
    assert read(text, 1) == read(text)


def test_without_tools_on_offer_everything_is_text(family):
    text = family.write([ONE])
    assert read(text, 1, tools=[])[2] == []
    assert read(text, 0, tools=TOOLS[1:])[2] == []
