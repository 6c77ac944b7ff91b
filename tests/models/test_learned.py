"""What rundry remembers about a model on a server, in real files and from several processes."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from types import SimpleNamespace
from typing import cast

import pytest

from rundry.agent.models.lanes.timer import Timer
from rundry.agent.models.learned import MOST, Learned, learn, learned
from rundry.agent.models.own_server import OwnServer
from rundry.agent.protocol import Tokens

SERVER = "http://127.0.0.1:8080/v1"


@pytest.fixture
def env(tmp_path) -> dict[str, str]:
    return {"XDG_DATA_HOME": str(tmp_path / "data")}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "data" / "rundry" / "learned.json"


def test_nothing_is_known_of_a_model_that_was_never_used(env, file):
    assert learned(SERVER, "qwen", env) == Learned()
    assert not file.exists()


def test_a_change_keeps_what_was_known_before(env):
    learn(SERVER, "qwen", env, refused={"stream_options": ""}, edit_format="whole")
    learn(SERVER, "qwen", env, refused={"response_format": "json_object"}, read_speed=47.5)
    learn(SERVER, "qwen", env, write_speed=9.0)
    assert learned(SERVER, "qwen", env) == Learned(
        refused={"stream_options": "", "response_format": "json_object"},
        edit_format="whole",
        read_speed=47.5,
        write_speed=9.0,
    )


def test_models_and_servers_are_known_apart(env):
    learn(SERVER, "qwen", env, edit_format="whole")
    assert learned(SERVER, "other", env) == Learned()
    assert learned("http://127.0.0.1:8081/v1", "qwen", env) == Learned()
    assert learned("https://127.0.0.1:8080/v1", "qwen", env) == Learned()


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (SERVER, "http://127.0.0.1:8080"),
        (SERVER, "http://127.0.0.1:8080/v1/"),
        ("https://Example.com/v1", "https://example.com:443"),
        ("http://host", "http://HOST:80/"),
        ("openrouter", "openrouter"),
    ],
)
def test_one_server_is_the_same_in_every_spelling_of_its_address(env, written, read):
    learn(written, "qwen", env, edit_format="blocks")
    assert learned(read, "qwen", env).edit_format == "blocks"


def test_a_password_in_an_address_is_not_stored(env, file):
    learn("http://me:hunter2@127.0.0.1:8080/v1?api-key=hunter3", "qwen", env, edit_format="whole")
    assert learned(SERVER, "qwen", env).edit_format == "whole"
    assert "hunter" not in file.read_text()


def test_only_the_user_can_read_the_file_and_its_folder(env, file):
    learn(SERVER, "qwen", env, edit_format="whole")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[1]", b'{"http://127.0.0.1:8080 qwen": {"read_speed": "fast"}}', b"\xff\xfe", b"[" * 5000]
)
def test_a_damaged_file_means_that_nothing_is_known_and_the_next_change_mends_it(env, file, damage):
    file.parent.mkdir(parents=True)
    file.write_bytes(damage)
    assert learned(SERVER, "qwen", env) == Learned()
    learn(SERVER, "qwen", env, edit_format="whole")
    assert learned(SERVER, "qwen", env).edit_format == "whole"


def test_a_fifo_in_place_of_the_file_does_not_block(env, file):
    file.parent.mkdir(parents=True)
    os.mkfifo(file)
    assert learned(SERVER, "qwen", env) == Learned()


def test_a_folder_that_cannot_be_written_is_not_an_error(tmp_path):
    (tmp_path / "data").write_text("a file where the folder should be")
    env = {"XDG_DATA_HOME": str(tmp_path / "data")}
    learn(SERVER, "qwen", env, edit_format="whole")
    assert learned(SERVER, "qwen", env) == Learned()


def test_an_unknown_field_is_refused_by_name(env):
    with pytest.raises(TypeError, match="colour"):
        learn(SERVER, "qwen", env, colour="red")


def test_the_models_that_were_changed_longest_ago_are_dropped_first(env, file):
    learn(SERVER, "first", env, edit_format="whole")
    learn(SERVER, "second", env, edit_format="whole")
    for i in range(MOST - 2):
        learn(SERVER, f"m{i}", env, write_speed=1.0)
    learn(SERVER, "first", env, read_speed=2.0)
    learn(SERVER, "one more", env, write_speed=1.0)
    assert learned(SERVER, "first", env) == Learned(edit_format="whole", read_speed=2.0)
    assert learned(SERVER, "second", env) == Learned()
    assert len(json.loads(file.read_text())) == MOST


def test_two_processes_that_learn_at_once_lose_nothing(env):
    code = (
        "import os, sys\n"
        "from rundry.agent.models.learned import learn\n"
        f"for i in range(40): learn({SERVER!r}, 'qwen', os.environ, refused={{sys.argv[1] + str(i): ''}})\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", code, name], env={**os.environ, **env}) for name in ("a", "b")]
    assert [process.wait(120) for process in both] == [0, 0]
    assert len(learned(SERVER, "qwen", env).refused) == 80


def test_a_speed_that_varies_is_stored_three_times_and_then_at_most_once_a_minute(env):
    server = OwnServer(SERVER, "qwen", env, None)

    def answered(seconds: float, ended: float) -> float | None:
        timer = SimpleNamespace(sent=ended - seconds - 1, first=ended - 1)
        server.measure(Tokens(1_000, 100), cast(Timer, timer), ended)
        return learned(SERVER, "qwen", env).read_speed

    assert answered(8.0, 1.0) == 125, "the first answer comes while the model is loaded"
    assert answered(4.0, 5.0) == 250
    assert answered(1.0, 10.0) == 1_000
    assert answered(2.0, 20.0) == 1_000 and server.read == 500
    assert answered(2.0, 69.0) == 1_000
    assert answered(2.0, 71.0) == 500
