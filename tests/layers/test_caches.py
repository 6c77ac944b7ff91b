"""Caches of package managers: commands in a layer fill them, and nobody keeps what they wrote."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rundry.agent.layers.layer import Layer
from rundry.agent.sandbox.command_access import Access, npm_cache
from rundry.agent.sandbox.home_places import caches_at_home, fills_caches

from .conftest import AsUser, Bench

WRITES = "echo run > {0}/entry && echo run > {0}/new && rm {0}/gone && cat {0}/entry {0}/new && test ! -e {0}/gone"


def run(layer: Layer, script: str) -> str:
    done = subprocess.run([*layer.words, "sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    return done.stdout


def check_dropped(bench: Bench) -> None:
    cache = bench.folder / "cache"
    cache.mkdir()
    for name in ("entry", "gone"):
        (cache / name).write_text("user\n")
    first, second = (
        Layer(bench.folder / name, bench.ws, caches=[cache]).mount(bench.namespaces) for name in ("first", "second")
    )
    assert first.access.caches == [cache]
    assert run(first, WRITES.format(cache)) == "run\nrun\n"
    assert run(second, f"ls {cache}; cat {cache}/entry") == "entry\ngone\nuser\n", "a later layer sees the user's"
    first.seal(5)
    assert first.effects()[0] == []
    first.mount_again(bench.namespaces, 5)
    assert run(first, f"cat {cache}/entry") == "user\n"
    for one in (first, second):
        one.drop()
        assert not one.folder.exists()
    assert sorted(os.listdir(cache)) == ["entry", "gone"]
    assert (cache / "entry").read_text() == "user\n"


def test_what_commands_write_to_a_cache_is_dropped(bench: Bench):
    check_dropped(bench)


def test_what_commands_of_an_ordinary_user_write_to_a_cache_is_dropped(as_user: AsUser):
    def act(folder: Path) -> None:
        bench = Bench(folder)
        check_dropped(bench)
        bench.close()

    as_user(act)


def test_a_cache_that_cannot_be_covered_stays_read_only(bench: Bench):
    """The kernel lays no overlay over /proc/sys."""
    layer = Layer(bench.folder / "layer", bench.ws, caches=[Path("/proc/sys")]).mount(bench.namespaces)
    assert layer.access.caches == []
    assert bench.run(layer, "echo x > made").returncode == 0
    layer.drop()


def test_caches_are_found_by_variables_and_none_in_another_or_in_the_workspace(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    ws, modules = tmp_path / "ws", tmp_path / "modules"
    for folder in (ws / "cache", modules / "uv", tmp_path / "home/.npm/_cacache", tmp_path / "home/.cargo/registry"):
        folder.mkdir(parents=True)
    env = {
        "GOMODCACHE": str(modules),
        "UV_CACHE_DIR": str(modules / "uv"),
        "PIP_CACHE_DIR": str(ws / "cache"),
        "DENO_DIR": str(tmp_path),
    }
    assert caches_at_home(env, ws) == [
        tmp_path / "home/.cargo/registry",
        tmp_path / "home/.npm/_cacache",
        modules,
    ]


@pytest.mark.parametrize(
    ("line", "fills"),
    [("cd web && npm ci", True), ("make -j4 deps", True), ("./mvnw -q test", True), ("grep -r npm-check .", False)],
)
def test_a_line_is_given_caches_if_it_names_a_program_that_fills_them(line, fills):
    assert fills_caches(line) is fills


def test_npm_gets_a_cache_of_its_own_where_it_cannot_write_to_that_of_the_user(bench: Bench):
    cache = bench.folder / ".npm/_cacache"
    cache.mkdir(parents=True)
    layer = Layer(bench.folder / "layer", bench.ws, caches=[cache]).mount(bench.namespaces)
    temp = Path("/tmp")
    assert npm_cache(Access(layer=layer.access), temp) == {}
    assert npm_cache(Access(), temp) == npm_cache(Access(layer=layer.access, keeps_workspace=True), temp) != {}
    layer.drop()
