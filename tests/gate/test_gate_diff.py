"""Hunks and diffs are made from the bytes, and the taken hunks are exactly what lands."""

from __future__ import annotations

import json
import subprocess
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from rundry.agent.gate.text_diff import split_bytes, unified
from rundry.agent.host.files.file_states import FileState, read_state
from rundry.agent.protocol import ProposalOpened, Stamped, to_json_line
from rundry.agent.protocol.text.changed_lines import find_changes
from rundry.agent.protocol.text.hunks import apply_hunks, split
from rundry.agent.repo.patch_format import Version, file_patch

_TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "\n", "d\re\n", "}\n", "x"]), max_size=30).map("".join)


@given(_TEXTS, _TEXTS)
def test_no_hunk_gives_the_old_text_and_all_hunks_give_the_new_one(old, new):
    parts = split(old, new)
    assert apply_hunks(parts, []) == old
    assert apply_hunks(parts, range(len(parts.hunks))) == new
    assert (not parts.hunks) == (old == new)


@given(_TEXTS, _TEXTS, st.data())
def test_chosen_hunks_one_after_the_other_give_the_same_as_together(old, new, data):
    parts = split(old, new)
    chosen = data.draw(st.sets(st.integers(0, max(0, len(parts.hunks) - 1)))) if parts.hunks else set()
    pieces, at = [], 0
    for hunk in parts.hunks:
        for change in hunk.changes:
            pieces += parts.old[at : change.a1]
            pieces += parts.new[change.b1 : change.b2] if hunk.index in chosen else parts.old[change.a1 : change.a2]
            at = change.a2
    assert apply_hunks(parts, chosen) == "".join([*pieces, *parts.old[at:]])


@given(st.lists(st.integers(0, 6), max_size=40), st.lists(st.integers(0, 6), max_size=40))
def test_between_the_changed_regions_both_sides_are_equal(a, b):
    old, new = [str(i) for i in a], [str(i) for i in b]
    at_a = at_b = 0
    for change in find_changes(old, new):
        assert old[at_a : change.a1] == new[at_b : change.b1]
        assert change.a1 < change.a2 or change.b1 < change.b2
        at_a, at_b = change.a2, change.b2
    assert old[at_a:] == new[at_b:]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"a\nb\nc\n", b"a\nB\nc\n"),
        (b"a\nb", b"a\nb\n"),
        (b"a\nb\n", b"a\nb"),
        (b"", b"a\n"),
        (b"a\n", b""),
        (b"a\r\nb\r\n", b"a\r\nb\n"),
        (b"".join(b"%d\n" % i for i in range(60)), b"".join(b"%d\n" % (i if i % 20 else -i - 1) for i in range(60))),
    ],
)
def test_the_diff_applies_with_patch_and_gives_exactly_the_new_bytes(tmp_path, old, new):
    file = tmp_path / "f.txt"
    file.write_bytes(old)
    before = read_state(file)
    text = unified("f.txt", before, new, split_bytes(before, new))
    (tmp_path / "d.patch").write_text(text, newline="")
    subprocess.run(["git", "apply", "-p1", "d.patch"], cwd=tmp_path, check=True, capture_output=True)
    assert file.read_bytes() == new


def test_a_new_file_and_a_deleted_one_are_named_as_such():
    state = FileState(path=Path("a"), real=Path("/a"), exists=False)
    assert unified("a", state, b"x\n", split_bytes(state, b"x\n")).startswith(
        "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n"
    )
    old = FileState(path=Path("a"), real=Path("/a"), exists=True, data=b"x\n")
    assert unified("a", old, None, split_bytes(old, None)) == "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig", "latin-1"])
def test_hunks_of_other_encodings_keep_every_byte_outside_of_them(tmp_path, encoding):
    lines = [f"zeile {i} ä\r\n" for i in range(40)]
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    data = (mark + "".join(lines)).encode(encoding)
    file = tmp_path / "f.txt"
    file.write_bytes(data)
    before = read_state(file)
    lines[3], lines[30] = "neu\r\n", "auch neu\r\n"
    after = before.encode("".join(lines))
    parts = split_bytes(before, after)
    assert parts is not None
    assert len(parts.hunks) == 2
    assert apply_hunks(parts, [0, 1]).encode(before.encoding) == after
    lines[30] = "zeile 30 ä\r\n"
    assert apply_hunks(parts, [0]).encode(before.encoding) == before.encode("".join(lines))


def test_a_binary_file_is_shown_by_its_sizes():
    state = FileState(path=Path("a"), real=Path("/a"), exists=True, data=b"\0\1", size=2, is_binary=True, encoding="")
    assert "Binary: 2 bytes before, 1 bytes after" in unified("a", state, b"x", split_bytes(state, b"x"))


def test_ten_thousand_hunks_and_a_repetitive_file_take_seconds_at_most():
    old = [f"line {i}\n" if i % 9 == 0 else "same\n" for i in range(90_000)]
    new = [f"other {i}\n" if i % 9 == 0 else "same\n" for i in range(90_000)]
    began = time.monotonic()
    assert split("".join(old), "".join(new)).added > 0
    same = ["}\n", "{\n"] * 10_000
    split("".join(same), "".join([*same[1:], "x\n"]))
    anchored = [f"keep {i}\n" if i % 9 == 0 else f"old {i}\n" if i % 9 == 4 else "same\n" for i in range(90_000)]
    changed = [line.replace("old", "new") for line in anchored]
    assert len(split("".join(anchored), "".join(changed)).hunks) == 10_000
    assert time.monotonic() - began < 20


FORGED = "notes.txt\n@@ -1 +1 @@\n-harmless\n+harmless too\n--- a/x"


@pytest.mark.parametrize(
    "name", [FORGED, "a\rb", "a\u2028@@ -1 +1 @@", "a\x85b", 'quo"te', "back\\slash", "tab\tx", "\u202etxt"]
)
def test_no_name_of_a_file_adds_a_line_to_a_diff_and_git_reads_the_name_back(name, tmp_path):
    before = FileState(path=Path(name), real=tmp_path / name, exists=True, data=b"a\n", encoding="utf-8")
    shown = unified(name, before, b"b\n", split_bytes(before, b"b\n"))
    assert len(shown.splitlines()) == 5
    assert [line[:2] for line in shown.splitlines()] == ["--", "++", "@@", "-a", "+b"]
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / name.rpartition("/")[0]).mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_bytes(b"a\n")
    patch = file_patch(name, Version("100644", b"a\n"), Version("100644", b"b\n"))
    assert len(patch.decode().splitlines()) == 6
    for text in (shown.encode(), patch):
        subprocess.run(["git", "apply"], cwd=tmp_path, input=text, check=True)
        assert (tmp_path / name).read_bytes() == b"b\n"
        (tmp_path / name).write_bytes(b"a\n")


def test_what_a_terminal_gets_as_json_reads_back_and_neither_hides_nor_steers():
    for text in ("\x9b2J \x85", "\u202egpj.exe", "a\u200bb\ufeff", "\U000e0041", "\x7f", "\u2028@@", "é 界 👩"):
        line = to_json_line(
            Stamped(1, 0.0, None, None, ProposalOpened(proposal_id="p", tool=text, digest="d", path=text))
        )
        assert json.loads(line)["path"] == text
        kinds = {unicodedata.category(sign) for sign in line.decode()}
        assert not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp", "Cn"}, text
