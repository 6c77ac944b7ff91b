from __future__ import annotations

import time

import pytest

from rundry.agent.extend.skills.front_matter import BadFrontMatter, one_line_value, split_front_matter


def test_texts_of_all_usual_forms_are_read() -> None:
    fields, body = split_front_matter(
        "---\n"
        "name: invoices   # the folder\n"
        'description: "Sums up: invoices, \\"fast\\""\n'
        "license: 'it''s MIT'\n"
        "summary: >-\n  one\n  two\n"
        "compatibility: needs git\n  and make\n"
        "allowed-tools:\n- Bash(git:*)\n- Read\n"
        "metadata:\n  author: someone\n  version: 1\n"
        "---\n\n# Body\n--- not the end\n"
    )
    assert fields == {
        "name": "invoices",
        "description": 'Sums up: invoices, "fast"',
        "license": "it's MIT",
        "summary": "one two",
        "compatibility": "needs git and make",
        "allowed-tools": "- Bash(git:*) - Read",
        "metadata": "author: someone version: 1",
    }
    assert body == "# Body\n--- not the end\n"


def test_a_text_without_front_matter_is_all_body() -> None:
    assert split_front_matter("# Title\nname: x\n") == ({}, "# Title\nname: x\n")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("---\nname: x\n", "does not end"),
        ("---\n" + "a: b\n" * 10_000 + "---\n", "does not end"),
        ("---\nname: x\nname: y\n---\n", "twice"),
        ("---\nname: &a [x]\n---\n", "anchor"),
        ("---\nname: *a\n---\n", "alias"),
        ("---\nname: !!python/object:os.system\n---\n", "tag"),
        ("---\njust words\n---\n", "line 2 of its front matter"),
        ("---\nname: 'x\n---\n", "closing quote"),
    ],
)
def test_what_cannot_be_read_says_why(text: str, why: str) -> None:
    with pytest.raises(BadFrontMatter, match=why):
        split_front_matter(text)


def test_a_bomb_of_aliases_is_refused_in_no_time() -> None:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x]"] + [f"a{n}: &a{n} [{f'*a{n - 1},' * 9}]" for n in range(1, 12)]
    began = time.monotonic()
    with pytest.raises(BadFrontMatter, match="anchor"):
        split_front_matter("---\n" + "\n".join(lines) + "\n---\n")
    assert time.monotonic() - began < 1


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("", "empty"),
        ("x" * 21, "21 characters"),
        ("a\x1b[31mb", "control"),
        ("a\u202eb", "hidden"),
        ("a\u200bb", "hidden"),
    ],
)
def test_a_value_for_one_line_has_no_hidden_characters(value: str, why: str) -> None:
    with pytest.raises(BadFrontMatter, match=why):
        one_line_value("description", value, 20)
