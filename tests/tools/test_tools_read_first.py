"""The model replaces only contents that it has read: lines of somebody else and uncommitted ones are not lost."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.played_events import spec
from fakes.project import git

from rundry.agent.gate.draft import FileDraft
from rundry.agent.gate.rebase import rebase_draft
from rundry.agent.protocol import Message
from rundry.agent.protocol.messages import SeenContent
from rundry.agent.state.facts.change_log import FileEffect, RecordedChange
from rundry.agent.state.facts.conversation import Conversations
from rundry.agent.state.facts.standing_changes import Changes
from rundry.agent.tools.carry_out import is_as_called
from rundry.agent.tools.parse import parse_arguments
from rundry.agent.tools.read_contents import ReadContents
from rundry.agent.tools.tool_result import ToolResult

from .conftest import Bench

SHOWN = (
    "Nothing was changed. These are its lines:\n1| one\n2| the user's\nWrite it again with the lines that must stay."
)


@pytest.fixture
def bench(make_bench: Callable[..., Bench], tmp_path: Path) -> Bench:
    """A repository with a committed file, and a model that has read nothing."""
    root = tmp_path / "w"
    root.mkdir()
    git(root, "init", "-q")
    (root / "a.txt").write_text("one\ntwo\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "First")
    SENT.clear()
    return make_bench(contents=ReadContents(RUN))


RUN = Conversations(spec(workspace="/work"))
SENT = RUN.main.messages
"""What the model of the test has in its conversation."""


async def call(bench: Bench, tool: str, **arguments: object) -> ToolResult:
    given = json.dumps(arguments)
    result = await (bench.read(tool, given) if tool == "read_file" else bench.act(tool, given))
    SENT.append(Message(role="tool", text=result.text, seen=[] if result.seen is None else [result.seen]))
    return result


READ_IT = "Read it, then write it again with its lines. Nothing was changed."


def by_the_user(bench: Bench, text: str, *, before_the_run: bool = False) -> None:
    (bench.root / "a.txt").write_text(text)
    at = time.time() - 100 if before_the_run else time.time() + 1
    os.utime(bench.root / "a.txt", (at, at))


async def test_a_file_as_it_was_committed_is_replaced_unread(bench: Bench):
    assert (await call(bench, "write_file", path="a.txt", content="mine\n")).ok
    assert (await call(bench, "write_file", path="a.txt", content="mine again\n")).ok, "it knows what it wrote"


@pytest.mark.parametrize("before_the_run", [False, True], ids=["during the run", "before the run"])
async def test_lines_of_the_user_that_the_model_never_read_are_not_replaced(bench: Bench, *, before_the_run: bool):
    by_the_user(bench, "one\nthe user's\n", before_the_run=before_the_run)
    result = await call(bench, "write_file", path="a.txt", content="mine\n")
    assert not result.ok and result.text == f"you have not read a.txt, and git does not have its lines. {SHOWN}"
    assert (bench.root / "a.txt").read_text() == "one\nthe user's\n"
    assert (await call(bench, "write_file", path="a.txt", content="mine\n")).ok, "the refusal showed its lines"


async def test_a_file_that_changed_since_it_was_read_is_read_again(bench: Bench):
    await call(bench, "read_file", path="a.txt")
    by_the_user(bench, "one\nthe user's\n")
    result = await call(bench, "write_file", path="a.txt", content="mine\n")
    assert not result.ok and result.text == f"a.txt was changed since you read it. {SHOWN}"


async def test_an_edit_of_a_file_that_changed_says_what_changed_and_does_not_count_as_a_reading(bench: Bench):
    await call(bench, "read_file", path="a.txt")
    by_the_user(bench, "one\nthe user's\n")
    result = await call(bench, "edit_file", path="a.txt", old_text="one\n", new_text="1\n")
    assert result.ok
    assert "a.txt was changed since you read it. Somebody else changed this:" in result.text
    assert "\n-two\n+the user's\n" in result.text
    assert not (await call(bench, "write_file", path="a.txt", content="mine\n")).ok
    assert (bench.root / "a.txt").read_text() == "1\nthe user's\n"


async def test_a_change_of_many_lines_is_cut_and_one_that_no_text_is_known_of_is_named(bench: Bench):
    (bench.root / "a.txt").write_text("one\n" + "two\n" * 100)
    await call(bench, "read_file", path="a.txt")
    by_the_user(bench, "one\n" + "three\n" * 100)
    result = await call(bench, "edit_file", path="a.txt", old_text="one\n", new_text="1\n")
    assert "more lines]" in result.text and result.text.count("+three") < 40
    by_the_user(bench, "1\nfour\n")
    bench.ctx.contents = ReadContents(RUN)  # as after a resume
    result = await call(bench, "edit_file", path="a.txt", old_text="1\n", new_text="one\n")
    assert "a.txt was changed since you read it: read it before you rely on its other lines" in result.text


async def test_a_part_that_was_read_is_not_the_whole_file_but_all_its_parts_are(bench: Bench):
    await call(bench, "read_file", path="a.txt", start_line=1, end_line=1)
    result = await call(bench, "write_file", path="a.txt", content="mine\n")
    assert not result.ok and "you have read only lines 1 to 1 of a.txt, which has 2" in result.text
    SENT.pop()  # the refusal, which shows the lines
    assert not (await call(bench, "write_file", path="a.txt", content="mine\n")).ok
    SENT.pop()
    await call(bench, "read_file", path="a.txt", start_line=2)
    assert (await call(bench, "write_file", path="a.txt", content="mine\n")).ok


async def test_an_edit_keeps_what_is_known_of_the_other_lines(bench: Bench):
    await call(bench, "read_file", path="a.txt", start_line=1, end_line=1)
    edited = await call(bench, "edit_file", path="a.txt", old_text="one\n", new_text="1\n")
    again = await call(bench, "edit_file", path="a.txt", old_text="1\n", new_text="one, again\n")
    assert edited.ok and again.ok and "was changed" not in edited.text + again.text
    refused = await call(bench, "write_file", path="a.txt", content="mine\n")
    assert not refused.ok and "you have not read all lines of a.txt" in refused.text
    await call(bench, "read_file", path="a.txt")
    assert (await call(bench, "edit_file", path="a.txt", old_text="two", new_text="2")).ok
    assert (await call(bench, "write_file", path="a.txt", content="mine\n")).ok


async def test_what_is_no_longer_in_the_conversation_is_not_seen(bench: Bench):
    await call(bench, "read_file", path="a.txt")
    await call(bench, "edit_file", path="a.txt", old_text="two", new_text="2")
    del SENT[0]  # a shortened conversation: the edit is there, and what it was based on is not
    assert not (await call(bench, "write_file", path="a.txt", content="mine\n")).ok
    SENT.clear()
    (bench.root / "a.txt").write_text("the model's own\n")
    assert not (await call(bench, "write_file", path="a.txt", content="mine\n")).ok


async def test_an_untracked_file_is_read_first_and_without_git_one_that_changed_during_the_run(
    bench: Bench, tmp_path: Path
):
    (bench.root / "notes.txt").write_text("only here\n")
    os.utime(bench.root / "notes.txt", (1, 1))
    assert not (await call(bench, "write_file", path="notes.txt", content="mine\n")).ok
    SENT.clear()
    (bench.root / ".git").rename(tmp_path / "no git")
    (tmp_path / "old.txt").write_text("moved here\n")
    os.utime(tmp_path / "old.txt", (1, 1))
    bench.ctx.contents = ReadContents(RUN)  # of a run that begins now
    assert (await call(bench, "write_file", path="notes.txt", content="mine\n")).ok
    began = time.time_ns()
    while (tmp_path / "old.txt").stat().st_ctime_ns <= began:  # the clock of a file system has ticks
        (tmp_path / "old.txt").chmod(0o644)
    (tmp_path / "old.txt").rename(bench.root / "old.txt")
    result = await call(bench, "write_file", path="old.txt", content="mine\n")
    assert result.text.startswith("old.txt was changed since the run began, and you have not read it.")
    by_the_user(bench, "one\nthe user's\n")
    result = await call(bench, "write_file", path="a.txt", content="mine\n")
    assert result.text.startswith("a.txt was changed since the run began, and you have not read it.")


async def test_a_content_that_was_only_named_is_read_before_it_is_replaced(bench: Bench):
    await call(bench, "read_file", path="a.txt")
    by_the_user(bench, "one\nthe other session's\n")
    digest = hashlib.sha256((bench.root / "a.txt").read_bytes()).hexdigest()
    SENT.append(Message(role="user", seen=[SeenContent(path="a.txt", digest=digest)]))
    result = await call(bench, "write_file", path="a.txt", content="mine\n")
    assert not result.ok and result.text.startswith("a.txt was changed since you read it. Nothing was changed.")
    assert (await call(bench, "write_file", path="a.txt", content="mine\n")).ok, "the refusal showed its lines"


async def test_what_the_run_alone_made_of_nothing_or_of_a_committed_content_needs_no_reading(bench: Bench):
    def digest(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    def made(path: str, before: str | None, after: str) -> None:
        effect = FileEffect(before if before is None else digest(before), digest(after))
        changes.standing.append(RecordedChange(len(changes.standing) + 1, 1, None, None, files={path: effect}))
        (bench.root / path).write_text(after)

    changes = Changes()
    bench.ctx.contents = ReadContents(RUN, changes)
    made("made.txt", None, "1\n")
    made("made.txt", "1\n", "2\n")
    assert (await call(bench, "write_file", path="made.txt", content="mine\n")).ok
    made("a.txt", "one\ntwo\n", "one\n2\n")
    assert (await call(bench, "write_file", path="a.txt", content="mine\n")).ok
    SENT.clear()
    made("a.txt", "by somebody else\n", "one\n")
    assert not (await call(bench, "write_file", path="a.txt", content="mine\n")).ok


async def test_a_link_is_the_file_that_it_leads_to(bench: Bench):
    (bench.root / "link.txt").symlink_to("a.txt")
    by_the_user(bench, "one\nthe user's\n")
    await call(bench, "read_file", path="link.txt")
    assert (await call(bench, "write_file", path="a.txt", content="mine\n")).ok


async def test_an_empty_file_needs_no_reading_and_a_long_one_is_not_shown_with_the_refusal(bench: Bench):
    by_the_user(bench, "")
    assert (await call(bench, "write_file", path="a.txt", content="x\n")).ok
    by_the_user(bench, "a line of the user\n" * 500)
    for _ in range(2):
        result = await call(bench, "write_file", path="a.txt", content="mine\n")
        assert not result.ok and result.text.endswith(
            "Read it, then write it again with its lines. Nothing was changed."
        )


async def test_a_new_file_needs_no_reading_and_a_person_may_replace_any(bench: Bench):
    assert (await call(bench, "write_file", path="new.txt", content="x\n")).ok
    by_the_user(bench, "one\nthe user's\n")
    bench.ctx.contents = None
    assert (await call(bench, "write_file", path="a.txt", content="by the person\n")).ok


async def test_lines_that_somebody_wrote_while_the_proposal_waited_are_not_seen(bench: Bench):
    (bench.root / "a.txt").write_text("one\ntwo\nthree\nfour\nfive\n")
    await call(bench, "read_file", path="a.txt")
    arguments = json.dumps({"path": "a.txt", "content": "ONE\ntwo\nthree\nfour\nfive\n"})
    draft = bench.draft("write_file", arguments)
    assert isinstance(draft, FileDraft)
    by_the_user(bench, "one\ntwo\nthree\nfour\nthe user's\n")
    result = await bench.carry_out(draft)
    SENT.append(Message(role="tool", text=result.text, seen=[] if result.seen is None else [result.seen]))
    assert result.ok and (bench.root / "a.txt").read_text() == "ONE\ntwo\nthree\nfour\nthe user's\n"
    assert not (await call(bench, "write_file", path="a.txt", content="mine\n")).ok
    assert (await call(bench, "write_file", path="a.txt", content="mine\n")).ok, "the refusal showed its lines"


async def test_a_proposal_of_an_earlier_runner_into_which_lines_were_merged_is_told_from_the_call(bench: Bench):
    (bench.root / "a.txt").write_text("one\ntwo\nthree\nfour\nfive\n")
    await call(bench, "read_file", path="a.txt")
    given = json.dumps({"path": "a.txt", "content": "ONE\ntwo\nthree\nfour\nfive\n"})
    draft, arguments = bench.draft("write_file", given), parse_arguments("write_file", given).arguments
    assert isinstance(draft, FileDraft) and is_as_called(draft, arguments)
    by_the_user(bench, "one\ntwo\nthree\nfour\nthe user's\n")
    moved = rebase_draft(bench.ctx.workspace, draft)
    assert isinstance(moved, FileDraft) and not is_as_called(moved, arguments)
