import codecs
import hashlib
import os
import stat
import tempfile
from pathlib import Path

import pytest
from host.files.leftovers import leftovers, put
from hypothesis import HealthCheck, given, settings, strategies as st
from sampling import examples

from rundry.agent.host.file_errors import StaleFile, UnreadableFile, WriteFailed
from rundry.agent.host.files.file_states import read_state
from rundry.agent.host.files.write_file import remove_file, write_file
from rundry.agent.host.workspace_paths import Workspace

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"), max_size=60)


ENCODED = st.builds(
    lambda text, end, form: form[0] + text.replace("\n", end).encode(form[1]),
    st.lists(TEXT, max_size=6).map("\n".join),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(
        [
            (b"", "utf-8"),
            (codecs.BOM_UTF8, "utf-8"),
            (codecs.BOM_UTF16_LE, "utf-16-le"),
            (codecs.BOM_UTF16_BE, "utf-16-be"),
            (codecs.BOM_UTF32_LE, "utf-32-le"),
            (codecs.BOM_UTF32_BE, "utf-32-be"),
        ]
    ),
)


@pytest.fixture(scope="module")
def fast_ws():
    """In memory where there is such a place: eight hundred writes to a disk cost seconds."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as folder:
        yield Workspace(Path(folder))


@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.one_of(ENCODED, st.binary(max_size=300), TEXT.map(lambda text: text.encode("latin-1", "ignore"))))
def test_any_content_comes_back_bit_by_bit_from_its_text_and_from_disk(fast_ws, data):
    path = put(fast_ws, "f", data)
    state = read_state(path)
    assert state.data == data and state.sha256 == hashlib.sha256(data).hexdigest()
    if not state.is_binary:
        assert state.encode(state.text()) == data
    changed = data + b"x" if state.is_binary else state.encode(state.text() + "x")
    after = write_file(fast_ws, state, changed)
    assert path.read_bytes() == changed == after.data
    assert write_file(fast_ws, after, data).data == path.read_bytes() == data


@pytest.mark.parametrize(
    ("data", "newline"),
    [(b"a\r\nb\r\n", "\r\n"), (b"a\rb\r", "\r"), (b"a\nb", "\n"), (b"a\r\nb\n", "mixed"), (b"ab", "")],
)
def test_new_lines_take_the_files_own_ending_and_a_mixed_file_is_left_alone(ws, data, newline):
    state = read_state(put(ws, "f", data))
    assert state.newline == newline
    ending = newline if newline in ("\r\n", "\r") else "\n"
    assert state.encode("x\ny\n") == f"x{ending}y{ending}".encode()
    assert state.encode(state.text()) == data


def test_cp1252_stays_cp1252_and_a_sign_that_it_lacks_is_an_error(ws):
    state = read_state(put(ws, "f", "caf\xe9 \u2013 10 \u20ac\n".encode("cp1252")))
    assert state.encoding == "cp1252" and "\u2013" in state.text()
    with pytest.raises(WriteFailed, match="cp1252"):
        state.encode("\u4e2d")


def test_binary_is_known_and_gives_no_text(ws):
    state = read_state(put(ws, "f", b"\x89PNG\r\n\x1a\n\0\0"))
    assert state.is_binary
    with pytest.raises(UnreadableFile, match="binary"):
        state.text()


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o755, 0o4755, 0o2750])
def test_the_mode_is_kept_with_its_set_id_bits(ws, mode):
    path = put(ws, "f", b"one")
    path.chmod(mode)
    write_file(ws, read_state(path), b"other")
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_symlink_stays_and_its_target_is_written(ws):
    target = put(ws, "real.txt", b"one")
    (ws.root / "link").symlink_to("real.txt")
    write_file(ws, read_state(ws.resolve("link")), b"two")
    assert (ws.root / "link").is_symlink() and target.read_bytes() == b"two"


def test_a_hard_link_keeps_its_other_name(ws):
    path = put(ws, "f", b"a longer text")
    os.link(path, ws.root / "g")
    after = write_file(ws, read_state(path), b"short")
    assert (ws.root / "g").read_bytes() == b"short" and after.links == 2
    write_file(ws, after, b"now longer than it was")
    assert (ws.root / "g").read_bytes() == b"now longer than it was"


def test_extended_attributes_are_kept(ws):
    path = put(ws, "f", b"one")
    try:
        os.setxattr(path, "user.note", b"mine")
    except (OSError, AttributeError):
        pytest.skip("no extended attributes here")
    write_file(ws, read_state(path), b"two")
    assert os.getxattr(path, "user.note") == b"mine" and path.read_bytes() == b"two"


def test_a_new_file_gets_its_folders_and_the_usual_mode(ws):
    state = read_state(ws.resolve("a/b/c.txt"))
    assert not state.exists and state.sha256 is None
    write_file(ws, state, b"hi")
    path = ws.root / "a/b/c.txt"
    old = os.umask(0)
    os.umask(old)
    assert path.read_bytes() == b"hi" and stat.S_IMODE(path.stat().st_mode) == 0o666 & ~old


def test_a_write_never_leaves_both_the_size_and_the_second_that_any_earlier_state_had(ws):
    path = put(ws, "f", b"00")
    had = {(2, int(path.stat().st_mtime))}
    state = read_state(path)
    for number in range(1, 12):
        state = write_file(ws, state, b"%02d" % number if number % 3 else b"%d" % number)
        status = path.stat()
        now = (status.st_size, int(status.st_mtime))
        assert now not in had
        had.add(now)


def test_a_file_of_another_size_keeps_the_time_of_its_writing(ws):
    path = put(ws, "f", b"0")
    before = path.stat().st_mtime
    write_file(ws, read_state(path), b"longer")
    assert 0 <= path.stat().st_mtime - before < 1


CHANGES = {
    "edited": lambda path: path.write_bytes(b"theirs"),
    "edited to the same size": lambda path: path.write_bytes(b"ona"),
    "deleted": lambda path: path.unlink(),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a link out": lambda path: (path.unlink(), path.symlink_to("/etc/hostname")),
    "a link inside": lambda path: (path.rename(path.parent / "moved"), path.symlink_to("moved")),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "its folder is a link": lambda path: (
        path.parent.rename(path.parent.parent / "sub2"),
        path.parent.symlink_to("sub2"),
    ),
    "its folder is gone": lambda path: (path.unlink(), path.parent.rmdir()),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_became_something_else_is_stale_and_nothing_is_written(ws, change):
    (ws.root / "sub").mkdir()
    path = put(ws, "sub/f", b"one")
    state = read_state(path)
    CHANGES[change](path)
    kept = path.read_bytes() if path.is_file() else None
    with pytest.raises(StaleFile):
        write_file(ws, state, b"two")
    with pytest.raises(StaleFile):
        remove_file(ws, state)
    assert (path.read_bytes() if path.is_file() else None) == kept != b"two"
    assert leftovers(ws) == []


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda path: path.mkdir(), "folder"),
        (lambda path: os.mkfifo(path), "pipe"),
        (lambda path: path.symlink_to("/dev/zero"), "device"),
        (lambda path: path.symlink_to(path.name), "circle"),
        (lambda path: path.write_bytes(b"x" * 101), "too large"),
    ],
)
def test_what_is_not_a_plain_file_of_a_sane_size_is_reported(ws, make, word):
    make(ws.root / "f")
    with pytest.raises(UnreadableFile, match=word):
        read_state(ws.root / "f", limit=100)


def test_a_file_below_a_file_is_not_a_file(ws):
    put(ws, "f", b"")
    with pytest.raises(UnreadableFile, match="not a folder"):
        read_state(ws.root / "f/x")


def test_reading_beneath_the_workspace_follows_no_link_that_was_put_there_later(ws):
    (ws.root / "sub").mkdir()
    real = ws.resolve("sub/hostname")
    (ws.root / "sub").rmdir()
    (ws.root / "sub").symlink_to("/etc")
    with pytest.raises(UnreadableFile):
        read_state(real, beneath=ws.root)


def test_removing_takes_the_file_that_was_looked_at(ws):
    path = put(ws, "f", b"one")
    remove_file(ws, read_state(path))
    assert not path.exists() and leftovers(ws) == []
