"""One item has one key, however it is spelled; a text that names nothing has a key, too."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import string
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.rundry import Home
from hypothesis import given, settings, strategies as st
from sampling import examples

from rundry.agent.search.items.item_keys import file_of, item_key, normalised, storable, url_key

CASES = json.loads(Path(__file__).with_name("keys.json").read_text())
HERE = Path("/nowhere")


def named(cases: list[dict[str, object]]) -> Iterator[object]:
    for case in cases:
        yield pytest.param(case, id=str(case["id"]))


@pytest.mark.parametrize("case", named(CASES["url_pairs"]))
def test_two_spellings_of_a_url(case: dict[str, object]):
    one, other = (item_key("url", str(case[side]), HERE) for side in "ab")
    assert (one == other) is case["same"], (one, other)
    assert not one.startswith("raw:")


@pytest.mark.parametrize("text", CASES["url_reject"])
def test_what_is_not_a_url_is_kept_as_it_is(text: str):
    assert item_key("url", text, HERE) == f"raw:{text}"


FILES = {case["id"]: case for case in CASES["file_pairs"]}
ELSEWHERE = {"F25": "win32"}
"""Cases that only another system has."""
SPELLED = {
    "F04": ("s", "a.txt"),
    "F05": ("h", "a.txt"),
    "F07": ("din/../a.txt", "a.txt"),
    "F13": ("loop1", "loop2"),
    "F16": ("\u00e9.txt", "e\u0301.txt"),
    "F17": ("bad\udcff.txt", "./bad\udcff.txt"),
    "F20": ("~/x", "{home}/x"),
    "F26": ("{root}/../out.txt", "{above}/out.txt"),
}
"""What stands in words there."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "sub").mkdir(parents=True)
    (folder / "other" / "in").mkdir(parents=True)
    (folder / "a.txt").write_text("a")
    (folder / "s").symlink_to("a.txt")
    (folder / "h").hardlink_to(folder / "a.txt")
    (folder / "din").symlink_to("other/in")
    (folder / "loop1").symlink_to("loop2")
    (folder / "loop2").symlink_to("loop1")
    return folder


@pytest.mark.parametrize("case", named([case for case in FILES.values() if case["same"] is not None]))
def test_two_spellings_of_a_file(case: dict[str, object], root: Path):
    if (system := ELSEWHERE.get(str(case["id"]), sys.platform)) != sys.platform:
        pytest.skip(f"the rule is one of {system}: {case['note']}")
    texts = SPELLED.get(str(case["id"]), (str(case["a"]), str(case["b"])))
    filled = [text.format(home=Path.home(), root=root, above=root.parent) for text in texts]
    one, other = (item_key("file", text, root, of_user=True) for text in filled)
    assert (one == other) is case["same"], (one, other)


def test_a_link_a_relative_path_and_the_whole_path_are_one_file(root: Path):
    real = str((root / "a.txt").resolve())
    for text in (
        "a.txt",
        "./sub//../a.txt",
        str(root / "s"),
        f"file://{root}/a.txt",
        f"FILE://localhost{root}/%61.txt",
    ):
        assert item_key("file", text, root) == real
    assert item_key("file", "a.txt", root / "sub" / "..") == real


def test_the_home_folder_is_meant_only_where_a_person_wrote_it(root: Path):
    assert item_key("file", "~/x", root) == str(root.resolve() / "~" / "x")
    assert item_key("file", "~/x", root, of_user=True) == str(Path.home().resolve() / "x")


@pytest.mark.parametrize("text", ["a\0b", "", "file://other/a.txt", "file://host", "x/" * 500_000, "\ud800"])
def test_what_cannot_be_a_file_is_kept_as_it_is(text: str, root: Path):
    key = item_key("file", text, root)
    assert key.startswith("raw:")
    assert key == f"raw:{text}" or text == "\ud800"
    with pytest.raises(ValueError, match="not a path"):
        file_of(key)


def test_a_file_name_that_is_not_text_survives(root: Path):
    name = os.fsdecode(b"100% bad\xff\\.txt")
    (root / name).write_text("still here")
    key = item_key("file", name, root)
    assert key != item_key("file", r"100% bad\udcff\.txt", root)
    assert key != item_key("file", key, root)
    assert file_of(key).read_text() == "still here"
    assert file_of(key) == root.resolve() / name


def test_a_value_is_normalised_and_stripped():
    assert item_key("value", " \tCafe\u0301 \n", HERE) == "Caf\u00e9"
    assert item_key("value", "a  b", HERE) == "a  b"
    assert item_key("value", "A", HERE) != item_key("value", "a", HERE)


anything = st.text(st.characters(), max_size=40)
"""Lone surrogates and control signs included."""
NEAR = "http:/?#&=;%.@[]\\ \t\n\0aA0xé\u00adß\udcff"
near_urls = st.one_of(
    anything, st.builds(str.__add__, st.sampled_from(["http://", "https:", "ws://h", "foo:"]), st.text(NEAR))
)


@given(near_urls)
@settings(max_examples=examples(400), deadline=None)
def test_a_key_of_a_url_or_a_value_is_its_own_key(text: str):
    for kind in ("url", "value"):
        key = item_key(kind, text, HERE)
        assert item_key(kind, key, HERE) == key


@given(anything, anything)
@settings(max_examples=examples(200), deadline=None)
def test_any_text_has_a_key_that_can_be_stored_and_printed(text: str, start: str):
    table = sqlite3.connect(":memory:")
    table.execute("CREATE TABLE keys(key TEXT) STRICT")
    for kind in ("url", "file", "value"):
        key = item_key(kind, start + text, HERE, of_user=True)
        table.execute("DELETE FROM keys")
        table.execute("INSERT INTO keys VALUES (?)", (key,))
        assert table.execute("SELECT key FROM keys").fetchone() == (key,)
    table.close()


@given(st.text("a\\u\ud800\udcffd0", max_size=8), st.text("a\\u\ud800\udcffd0", max_size=8))
@settings(max_examples=examples(300), deadline=None)
def test_two_texts_are_never_stored_as_one(one: str, other: str):
    assert (storable(one) == storable(other)) is (one == other)


label = st.text("abcxyz019-", min_size=1, max_size=5) | st.sampled_from(
    ["xn--", "xn--bcher-kva", "0x1f", "a" * 70, "A"]
)
host = st.lists(label | st.integers(0, 300).map(str), min_size=1, max_size=5).map(".".join)
port = st.sampled_from(["", ":80", ":443", ":8080", ":0", ":080", ":65535", ":65536", ":59999", ":99999"])
spelled = string.ascii_letters + string.digits + "-._~!$&'()*+,:=@;%|[]\"^é "
segment = st.text(spelled, max_size=4) | st.sampled_from([".", "..", "%2e", "%41", "..."])
path = st.lists(segment, max_size=4).map(lambda parts: "".join(f"/{part}" for part in parts))
query = st.lists(st.text("ab01=&-._~*+%'é/", max_size=5), max_size=4).map("&".join)
urls = st.builds(
    "{}://{}{}{}{}{}".format,
    st.sampled_from(["http", "https", "HTTP", "ftp"]),
    host,
    port,
    path,
    st.just("") | query.map("?{}".format),
    st.sampled_from(["", "#", "#a?b/..", "#\ud800"]),
)

tame_segment = st.text("ab09-._~!$&'()*+,:=@", max_size=4)
tame = st.builds(
    "{}://{}{}{}{}".format,
    st.sampled_from(["http", "https"]),
    st.lists(st.text("abx01-", min_size=1, max_size=3), min_size=1, max_size=4).map(".".join) | st.ip_addresses(v=4),
    port,
    st.lists(tame_segment, min_size=1, max_size=4).map(lambda parts: "".join(f"/{part}" for part in parts)),
    st.just("") | st.lists(st.text("ab=.~", max_size=4), max_size=3).map(lambda pairs: "?" + "&".join(pairs)),
)
"""Of which a third take the fast way."""


@given(urls | tame)
@settings(max_examples=examples(1500), deadline=None)
def test_the_fast_way_gives_what_the_certain_way_gives(text: str):
    assert url_key(text) == normalised(text)
    assert normalised(normalised(text)) == normalised(text) or normalised(text).startswith("raw:")


def test_most_of_the_urls_of_those_tests_are_urls_and_some_take_the_fast_way():
    chance = random.Random(4)
    texts = [f"http://host{chance.randrange(9)}.example:8080/a/{chance.randrange(9)}?a=1&b={n}" for n in range(50)]
    assert [url_key(text) for text in texts] == texts
    assert [normalised(text) for text in texts] == texts


@given(st.text(max_size=30))
@settings(max_examples=examples(100), deadline=None)
def test_a_value_in_either_normal_form_is_one(text: str):
    one, other = (item_key("value", unicodedata.normalize(form, text), HERE) for form in ("NFC", "NFD"))
    assert one == other


def test_the_command_prints_the_key(home: Home, root: Path):
    name = os.fsdecode(b"bad\xff.txt")
    for words, key in (
        (("url", "HTTP://Example.com:80/a?b&a#c"), "http://example.com/a?a=&b="),
        (("url", "http://[::1"), "raw:http://[::1"),
        (("file", "s", "--cwd", str(root)), str(root.resolve() / "a.txt")),
        (("file", name), "bytes:" + str((root / "bad%FF.txt").resolve())),
        (("file", "~/x"), str(home.root.resolve() / "x")),
        (("value", "--", " -x"), "-x"),
    ):
        ran = home.run("key", *words, cwd=root)
        assert (ran.exit_code, ran.stdout) == (0, f"{key}\n"), ran
    assert home.run("key", "page", "x", cwd=root).exit_code == 2
    assert home.run("key", "file", "x", "--cwd", "missing", cwd=root).exit_code == 2


def test_the_command_loads_neither_the_screen_nor_the_models(root: Path):
    code = (
        "import sys; sys.argv = ['rundry', 'key', 'url', 'http://x/%7e']\n"
        "from rundry.tui.cli.root import main\n"
        "try: main()\n"
        "except SystemExit: print([name for name in ('textual', 'litellm', 'aiohttp', 'httpx') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-P", "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["http://x/~", "[]"]
