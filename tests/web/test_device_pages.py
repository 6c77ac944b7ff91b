"""The pages for a paired device: everything is shown or said, and nothing of a run becomes markup."""

from __future__ import annotations

import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from rundry.agent import CommandEffects, EffectEntry, ProposalOpened, RundryError
from rundry.tui.web.change_html import MOST_CHARS, PART_LINES, Change, change_of
from rundry.tui.web.device_pages import Decided, Frame, link_page, list_page, message_page, policy, proposal_page
from rundry.tui.web.waiting_proposals import Waiting, WaitingRun

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[2J\u202egnp.exe\u200b\r\n</pre></form>'
FRAME = Frame(
    place="till", device="phone", base="/base/", until="14:31", fingerprint="3A:07", self_signed=False, restricted=False
)


class Blobs(dict[str, bytes]):
    def keep(self, data: bytes) -> str:
        name = hashlib.sha256(data).hexdigest()
        self[name] = data
        return name

    def content(self, blob: str | None) -> bytes | None:
        if blob is None:
            return None
        if blob not in self:
            raise RundryError(f"the journal does not have the content {blob[:12]}")
        return self[blob]


@pytest.fixture
def blobs() -> Blobs:
    return Blobs()


class Tags(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def edited(blobs: Blobs, before: bytes | None, after: bytes | None, path: str = "till/money.py", **more: object):
    names = [None if data is None else blobs.keep(data) for data in (before, after)]
    about = {"proposal_id": "p", "tool": "edit_file", "digest": "d" * 64, "asks": ["the gate is set to `ask`"]}
    return ProposalOpened(**{**about, "path": path, "before": names[0], "after": names[1], **more})


def shown(opened: ProposalOpened, change: Change, *, part: int = 0, seen: set[int] | None = None, **more: str) -> str:
    waiting = Waiting("run-1", more.pop("task", "fix it"), True, opened, more.pop("conflict", ""))
    return proposal_page(FRAME, waiting, change, part, seen or {part}, token="token", why_not=more.get("why_not", ""))


def test_a_page_has_no_script_and_loads_nothing(blobs: Blobs):
    opened = edited(blobs, b"a = 1\n", b"a = 2\n")
    run = WaitingRun("run-1", Path("x"), "fix it", True, "step 1", "", (opened,))
    for page in (
        link_page("3A:07", self_signed=True),
        list_page(FRAME, [run], [Decided("12:00", "approved edit x")]),
        shown(opened, change_of(opened, blobs.content)),
        message_page("refused", "/base/"),
    ):
        tags = Tags(page).found
        assert {tag for tag, _ in tags}.isdisjoint({"script", "iframe", "object", "embed", "base", "img"})
        assert not [name for _, attributes in tags for name in attributes if name.startswith("on") or name == "style"]
        assert {attributes.get("href") for tag, attributes in tags if tag == "link"} == {"data:,"}
        style = re.search(r"<style>(.*)</style>", page, re.S)
        assert style is not None and "url(" not in style[1] and "@import" not in style[1]
    assert "default-src 'none'" in policy() and "frame-ancestors 'none'" in policy() and "unsafe" not in policy()


def test_nothing_of_a_run_becomes_markup_or_is_invisible(blobs: Blobs):
    plain = edited(blobs, b"a = 1\n", b"a = 2\n")
    hostile = edited(blobs, b"a = 1\n", HOSTILE.encode(), path=HOSTILE, asks=[HOSTILE], tool=HOSTILE)
    command = ProposalOpened(proposal_id="p", tool="run_command", command=HOSTILE, cwd=HOSTILE, sandbox=HOSTILE)
    runs = [
        WaitingRun("run-1", Path("x"), HOSTILE, True, "step 1", HOSTILE, (hostile, command)),
        WaitingRun("run-1", Path("x"), "task", True, "step 1", "x", (plain, plain)),
    ]
    ways = [
        [
            shown(one, change_of(one, blobs.content), task=text, conflict=text)
            for one, text in ((each, HOSTILE), (plain, "x"))
        ]
        for each in (hostile, command)
    ]
    ways.append([list_page(FRAME, [run], [Decided("12:00", run.task, run.needs)]) for run in runs])
    for attacked, calm in ways:
        tags = {tag for tag, _ in Tags(attacked).found}
        assert tags <= {tag for tag, _ in Tags(calm).found} | {"span", "mark"}
        assert "<script" not in attacked and "onerror=alert(1)>" not in attacked
        for hidden in "\x1b\u202e\u200b\r":
            assert hidden not in attacked
        assert "␛" in attacked and "⟨U+202E⟩" in attacked and "⟨U+200B⟩" in attacked


def test_all_lines_of_a_long_change_are_in_its_parts_once(blobs: Blobs):
    lines = [f"value_{number} = {number};" for number in range(3 * PART_LINES)]
    opened = edited(blobs, None, "\n".join(lines).encode())
    change = change_of(opened, blobs.content)
    assert len(change.parts) > 3 and not change.is_cut
    text = Tags("".join(change.parts)).text
    assert re.findall(r"value_\d+ = \d+;", text) == lines


def test_approve_is_on_the_page_only_once_every_part_was_sent(blobs: Blobs):
    opened = edited(blobs, None, b"x\n" * (3 * PART_LINES))
    change = change_of(opened, blobs.content)
    count = len(change.parts)
    for part, seen in ((0, {0}), (count - 1, {0, count - 1}), (1, set(range(count - 1)))):
        page = shown(opened, change, part=part, seen=seen)
        assert 'value="approve"' not in page and 'value="reject"' in page
        assert f"Part {part + 1} of {count}, {count - len(seen)} not opened yet" in page
        assert "Approve appears once all parts were opened" in page
    assert 'value="approve"' in shown(opened, change, part=0, seen=set(range(count)))


def test_a_change_that_is_too_long_says_so_and_is_not_shown_as_a_whole(blobs: Blobs):
    opened = edited(blobs, None, b"some words of a long line\n" * 40_000)
    change = change_of(opened, blobs.content)
    assert change.is_cut and sum(map(len, change.parts)) <= MOST_CHARS
    page = shown(opened, change, seen=set(range(len(change.parts))), why_not="the change is too long")
    assert "Not approved here: the change is too long" in page
    assert 'value="approve"' not in page and 'value="reject"' in page


def test_one_line_without_end_is_cut_as_well(blobs: Blobs):
    assert change_of(edited(blobs, None, b"x" * (MOST_CHARS + 1)), blobs.content).is_cut


def test_what_a_command_would_change_is_shown_from_the_contents_and_not_from_the_short_text(blobs: Blobs):
    entries = [
        EffectEntry(
            path=f"till/{name}.py", is_text=True, before=blobs.keep(b"a = 1\n"), after=blobs.keep(text), added=1
        )
        for name, text in (("one", b"a = 2\n"), ("two", b"a = 33\n"))
    ]
    entries.append(EffectEntry(path="logo.png", size_before=10, size=2_000, why=["it is not text"]))
    effects = CommandEffects(command="make all", entries=entries, along="2 new ignored files", along_waits=True)
    opened = ProposalOpened(proposal_id="p", tool="run_command", digest="d", diff="# not shown here", effects=effects)
    text = Tags("".join(change_of(opened, blobs.content).parts)).text
    for word in ("till/one.py", "a = 2", "till/two.py", "a = 33", "logo.png", "not text, 10 bytes → 2.0 kB", "with it"):
        assert word in text, word
    assert "not shown here" not in text
    assert "make all" in shown(opened, change_of(opened, blobs.content))


def test_a_content_that_the_journal_does_not_have_is_an_error_and_not_an_empty_change(blobs: Blobs):
    opened = edited(blobs, b"a\n", b"b\n")
    blobs.clear()
    with pytest.raises(RundryError, match="does not have the content"):
        change_of(opened, blobs.content)
    bare = ProposalOpened(proposal_id="p", tool="edit_file", path="a.py")
    with pytest.raises(RundryError):
        change_of(bare, blobs.content)


def test_other_proposals_are_shown_in_full(blobs: Blobs):
    for more, word in (
        ({"command": "pip install x\nrm -r y"}, "rm -r y"),
        ({"server": "time", "name": "get", "call": '{"zone": "UTC"}'}, '{"zone": "UTC"}'),
        ({"plan": "1. look\n2. change\n\ncheck: make test"}, "check: make test"),
        ({"url": "https://docs.python.org/3/", "host": "docs.python.org", "query": "ast"}, "for: ast"),
    ):
        opened = ProposalOpened(proposal_id="p", tool="run_command", digest="d", **more)
        change = change_of(opened, blobs.content)
        assert word in Tags("".join(change.parts)).text
        assert 'value="approve"' in shown(opened, change)


def test_letters_that_are_written_from_the_right_do_not_move_code():
    style = Path(__file__).parents[2].joinpath("tui/web/device.css").read_text("utf-8")
    assert ".diff, .diff * { direction: ltr; unicode-bidi: bidi-override; }" in style
