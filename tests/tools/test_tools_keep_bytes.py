"""An edit leaves every byte outside of its hunk as it was, and a failed one leaves all (docs/attacks.md A.28)."""

from __future__ import annotations

import codecs
import json
import os
import resource
import stat

import pytest

FORMS = {
    "utf-8": (b"", "utf-8"),
    "utf-8 with mark": (codecs.BOM_UTF8, "utf-8"),
    "utf-16 le": (codecs.BOM_UTF16_LE, "utf-16-le"),
    "utf-16 be": (codecs.BOM_UTF16_BE, "utf-16-be"),
    "latin-1": (b"", "latin-1"),
}
LAYOUTS = {
    "LF": "é one\n\told\nthree\n",
    "CRLF": "é one\r\n\told\r\nthree\r\n",
    "CR": "é one\r\told\rthree\r",
    "mixed": "é one\r\n\told\nthree\r",
    "no last newline": "é one\r\n\told\r\nthree",
    "blank ends": "é one  \n\told\n\n\n  ",
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("form", FORMS)
async def test_an_edit_changes_its_own_words_and_no_byte_next_to_them(bench, form, layout):
    mark, encoding = FORMS[form]
    file = bench.file("a.txt", mark + LAYOUTS[layout].encode(encoding))
    file.chmod(0o4644)
    result = await bench.act("edit_file", json.dumps({"path": "a.txt", "old_text": "old", "new_text": "new é"}))
    assert result.ok, result.text
    assert file.read_bytes() == mark + LAYOUTS[layout].replace("old", "new é").encode(encoding)
    assert stat.S_IMODE(file.stat().st_mode) == 0o4644


@pytest.mark.parametrize("form", FORMS)
async def test_a_new_line_gets_the_files_own_ending_and_encoding(bench, form):
    mark, encoding = FORMS[form]
    file = bench.file("a.txt", mark + "é\r\nold\r\n".encode(encoding))
    assert (await bench.act("edit_file", json.dumps({"path": "a.txt", "old_text": "old\n", "new_text": "1\n2\n"}))).ok
    assert file.read_bytes() == mark + "é\r\n1\r\n2\r\n".encode(encoding)


async def test_an_empty_file_can_be_filled(bench):
    file = bench.file("a.txt", b"")
    assert (await bench.act("write_file", json.dumps({"path": "a.txt", "content": "x"}))).ok
    assert file.read_bytes() == b"x"


async def test_a_sign_that_the_encoding_lacks_is_refused_with_the_sign(bench):
    file = bench.file("a.txt", b"caf\xe9 old\n")
    result = await bench.act("edit_file", json.dumps({"path": "a.txt", "old_text": "old", "new_text": "\u4e2d"}))
    assert "cp1252 has no '\u4e2d'" in result.text
    assert file.read_bytes() == b"caf\xe9 old\n"


@pytest.mark.parametrize("linked", [False, True], ids=["a file", "a hard link"])
async def test_a_write_that_fails_half_way_leaves_the_old_bytes_and_no_file_next_to_them(bench, linked):
    file = bench.file("d/a.txt", b"old\n" * 100)
    if linked:
        os.link(file, bench.root / "d/b.txt")
    names = sorted(os.listdir(bench.root / "d"))
    draft = bench.draft("write_file", json.dumps({"path": "d/a.txt", "content": "n" * 5000}))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # fails as a full disk does: in the middle of a write
    try:
        result = await bench.carry_out(draft, by_person=True)  # a hard link asks in every mode
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not result.ok
    assert "not written" in result.text
    assert "\n" not in result.text
    assert file.read_bytes() == b"old\n" * 100
    assert sorted(os.listdir(bench.root / "d")) == names
