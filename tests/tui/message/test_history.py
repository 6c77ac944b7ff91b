"""Messages that were sent are kept for each folder: docs/how-to/session.md."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest
from fakes.screens import PlayedStart, Stage
from painted import until

from rundry.tui.message.history_search import search_history
from rundry.tui.message.message_history import History, HistoryFile

KEY = "sk-proj-" + "a1B2c3D4" * 6


def test_a_later_session_recalls_what_an_earlier_one_sent(tmp_path: Path):
    for text in ("first", "two\nlines", "third"):
        History(HistoryFile(tmp_path, tmp_path / "shop")).add(text)
    later = History(HistoryFile(tmp_path, tmp_path / "shop"))
    assert [later.older("")] + [later.older("") for _ in range(3)] == ["third", "two\nlines", "first", None]


def test_each_folder_has_a_history_of_its_own_and_a_link_to_it_the_same(tmp_path: Path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "link").symlink_to("shop")
    HistoryFile(tmp_path, tmp_path / "shop").add("here")
    assert HistoryFile(tmp_path, tmp_path / "other").load() == []
    assert HistoryFile(tmp_path, tmp_path / "link").load() == ["here"]


def test_only_the_owner_can_read_it(tmp_path: Path):
    file = HistoryFile(tmp_path / "runs", tmp_path)
    file.add("mine")
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700


def test_two_sessions_at_the_same_time_lose_nothing(tmp_path: Path):
    def send(name: str) -> None:
        history = History(HistoryFile(tmp_path, tmp_path))
        for number in range(100):
            history.add(f"{name} {number}")

    senders = [threading.Thread(target=send, args=(name,)) for name in "abcd"]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    assert sorted(HistoryFile(tmp_path, tmp_path).load()) == sorted(f"{n} {i}" for n in "abcd" for i in range(100))


def test_it_keeps_the_newest_messages_and_no_huge_one(tmp_path: Path):
    file = HistoryFile(tmp_path, tmp_path)
    for number in range(2_200):
        file.add(f"message {number}")
    file.add("x" * 1_000_000)
    kept = file.load()
    assert len(kept) == 500 and kept[-1] == "message 2199"
    assert len(file.path.read_bytes().splitlines()) <= 1_000


@pytest.mark.parametrize("damage", [b"\xff\xfe\n", b'{"a": 1}\n', b'"unfinished', b"\n\n", b"[" * 10_000])
def test_damaged_lines_are_skipped(tmp_path: Path, damage: bytes):
    file = HistoryFile(tmp_path, tmp_path)
    file.add("before")
    with file.path.open("ab") as raw:
        raw.write(damage)
    assert file.load() == ["before"]


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_something_else_in_its_place_is_neither_read_nor_written(tmp_path: Path, kind: str):
    file = HistoryFile(tmp_path, tmp_path)
    (tmp_path / "target").write_text('"secret"\n')
    if kind == "folder":
        file.path.mkdir()
    else:
        file.path.symlink_to(tmp_path / "target")
    file.add("mine")
    assert file.load() == [] and (tmp_path / "target").read_text() == '"secret"\n'


async def test_a_key_that_was_typed_is_recalled_in_this_session_and_hidden_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SHOP_API_KEY", "correct-horse-battery")
    stage = Stage(start=PlayedStart(tmp_path))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        box = stage.screen.message.box
        for text in (f"use {KEY}", "or correct-horse-battery"):
            box.fill(text)
            await pilot.press("enter")
        await until(pilot, lambda: not box.text)
        await pilot.press("up")
        await until(pilot, lambda: box.text == "or correct-horse-battery")
    (file,) = tmp_path.glob("history-*.jsonl")
    assert KEY not in file.read_text() and "correct-horse" not in file.read_text()
    later = Stage(start=PlayedStart(tmp_path))
    async with later.app.run_test(size=(80, 24)) as pilot:
        await pilot.press("h", "i", "up")
        await until(pilot, lambda: later.screen.message.box.text.startswith("or "))
        await pilot.press("down")
        await until(pilot, lambda: later.screen.message.box.text == "hi")


@pytest.mark.parametrize(
    ("wanted", "rows"),
    [
        ("", ["run tests", "Fix the parser", "look at a and b"]),
        ("FIX", ["Fix the parser"]),
        ("b a", ["Fix the parser", "look at a and b"][1:]),
        ("nowhere", ["no earlier message has this"]),
    ],
)
def test_a_search_finds_the_newest_messages_with_all_words_once(wanted: str, rows: list[str]):
    sent = ["look at a and b", "run tests", "Fix\n the parser", "run tests"]
    found = search_history(sent, wanted, 60, "title")
    assert [row.label or row.about for row in found.rows] == rows


def test_a_long_message_is_shown_at_its_match_and_fits_the_width():
    (row,) = search_history(["x " * 200 + "needle" + " y" * 200], "needle", 40, "title").rows
    assert "needle" in row.label and len(row.label) <= 40


async def test_ctrl_r_searches_while_typed_takes_one_and_gives_the_draft_back(tmp_path: Path):
    for text in ("fix the parser", "fix the lexer", "run the suite"):
        HistoryFile(tmp_path, tmp_path).add(text)
    stage = Stage(start=PlayedStart(tmp_path))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        box = stage.screen.message.box
        await pilot.press(*"draft", "ctrl+r", *"fix")
        await until(pilot, lambda: "› fix the lexer" in stage.text() and "run the suite" not in stage.text())
        assert "earlier messages" in stage.text()
        await pilot.press("escape")
        await until(pilot, lambda: box.text == "draft" and "earlier messages" not in stage.text())
        await pilot.press("ctrl+r", *"fix", "ctrl+r")
        await until(pilot, lambda: "› fix the parser" in stage.text())
        await pilot.press("enter")
        await until(pilot, lambda: box.text == "fix the parser" and "earlier messages" not in stage.text())
        assert stage.link.begun == [], "it is in the box, and not sent"
        await pilot.press("ctrl+r", *"zzz", "enter")
        await until(pilot, lambda: box.text == "zzz")
