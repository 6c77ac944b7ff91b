"""The home folder as workspace, on a stock set-up: secrets and rundry's own folders stay hidden from the model."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import Call, call, calls, say

RUNS = ".local/state/rundry/runs"
SECRETS = (".config/gh/hosts.yml", ".ssh/known_hosts", ".codex/auth.json", ".config/rundry/config.toml", ".netrc")


@pytest.fixture
def stock(home: Home) -> Home:
    """A home without any variable that moves a folder of rundry."""
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "RUNDRY_RUNS_DIR"):
        del home.env[name]
    for name in SECRETS:
        (home.root / name).parent.mkdir(parents=True, exist_ok=True)
        (home.root / name).write_text("# hush-canary\n")
    (home.root / "notes.txt").write_text("plain-notes\n")
    return home


def model_tries(home: Home, *wanted: Call, cwd: Path | None = None, flags: tuple[str, ...] = ()) -> Ran:
    with ScriptedServer([calls(*wanted), say("done")]) as server:
        words = ["run", "look around", "--headless", "--json", "--loop", "naive", "--steps", "2", "--gate", "auto"]
        words += ["--model", "fake", "--api-base", server.base_url, *flags]
        return home.run(*words, cwd=cwd or home.root)


def command(line: str) -> Call:
    return call("run_command", command=line).calls[0]


def test_rundry_and_doctor_start_in_the_home_folder(stock: Home) -> None:
    doctor = stock.run("doctor", "--model", "ollama_chat/qwen3:8b", cwd=stock.root)
    assert doctor.exit_code in (0, 1) and f"journals   {stock.root}/{RUNS}" in doctor.stdout, str(doctor)
    ran = model_tries(stock, command("cat notes.txt"))
    assert "plain-notes" in ran.results("run_command")[0]
    assert list((stock.root / RUNS).glob("**/*.db"))


def test_no_command_sees_the_journals_or_a_secret(stock: Home) -> None:
    lines = [
        f"ls -A {RUNS}; cat {RUNS}/*.db",
        "grep -rs hush . ; echo; tar cf - . 2>/dev/null | strings | grep hush",
        f"touch {RUNS}/new .ssh/new; rm -rf {RUNS} .ssh",
        "mv .local moved; mv .local/state elsewhere; mv .config away; ls",
    ]
    ran = model_tries(stock, *map(command, lines))
    journals = list((stock.root / RUNS).glob("*.db"))
    assert len(journals) == 1, str(ran)
    for result in ran.results("run_command"):
        assert "hush" not in result and journals[0].stem not in result and "SQLite" not in result, result
    assert sorted(path.name for path in (stock.root / ".ssh").iterdir()) == ["known_hosts"]
    assert ran.exit_code != 2 and all((stock.root / name).exists() for name in SECRETS)
    assert stock.run("check", journals[0].stem, cwd=stock.root).exit_code == 0


@pytest.mark.parametrize("path", [f"{RUNS}/JOURNAL", *SECRETS])
def test_no_tool_reads_writes_or_lists_a_hidden_place(stock: Home, path: str) -> None:
    ran = model_tries(stock, command("true"))  # a journal to look for
    path = path.replace("JOURNAL", next((stock.root / RUNS).glob("*.db")).name)
    before = (stock.root / path).read_bytes()
    wanted = [
        call("read_file", path=path),
        call("read_file", path=str(stock.root / path)),
        call("list_files"),
        call("list_files", path=str(Path(path).parent)),
        call("search", pattern="hush|SQLite"),
        call("search", pattern="hush|SQLite", path=str(Path(path).parent)),
        call("write_file", path=path, content="mine"),
        call("edit_file", path=path, old_text="#", new_text="mine"),
        call("write_file", path=f"{Path(path).parent}/new-{Path(path).name}", content="mine"),
    ]
    ran = model_tries(stock, *(one.calls[0] for one in wanted))
    assert len(ran.results()) >= len(wanted)
    for result in (*ran.results("read_file"), *ran.results("write_file")[:1], *ran.results("edit_file")):
        assert ": refused, " in result, result
    for result in (*ran.results("list_files"), *ran.results("search")):
        name_is_listed = Path(path).name in result and ": refused, " not in result
        assert not name_is_listed and "canary" not in result and "SQLite format" not in result, result
    assert (stock.root / path).read_bytes() == before


def test_a_folder_of_journals_that_is_named_in_a_project_is_hidden_too(home: Home, project: Path) -> None:
    runs = ("--runs-dir", str(project / "deep/runs"))
    ran = model_tries(home, command("ls -A deep deep/runs; echo x > deep/runs/y"), cwd=project, flags=runs)
    assert ran.exit_code != 2 and ".db" not in ran.results("run_command")[0]
    assert len(list((project / "deep/runs").glob("*.db"))) == 1 and not (project / "deep/runs/y").exists()


def test_what_a_command_changed_and_an_undo_leave_the_journals_out(stock: Home) -> None:
    ran = model_tries(stock, command("echo changed > notes.txt"))
    changed = {event["path"] for event in ran.of("file_changed")}
    assert changed == {"notes.txt"}
    run_id = next((stock.root / RUNS).glob("*.db")).stem
    undone = stock.run("ctl", run_id, "undo", "file", "notes.txt", cwd=stock.root)
    assert "notes.txt" in undone.stdout + undone.stderr and "not undone" in undone.stdout + undone.stderr, str(undone)
    assert (stock.root / "notes.txt").read_text() == "changed\n", "neither git nor the journal has its old content"
    assert stock.run("check", run_id, cwd=stock.root).exit_code == 0


def test_no_command_changes_what_the_users_shell_and_tools_load_from_the_home_folder(stock: Home) -> None:
    loaded = (".bashrc", ".profile", ".gitconfig", ".vimrc")
    for name in loaded:
        (stock.root / name).write_text("# as it was\n")
    ran = model_tries(
        stock, command(f"for f in {' '.join(loaded)}; do echo evil >> ~/$f; mv ~/$f ~/away; done; echo in > made")
    )
    assert [(stock.root / name).read_text() for name in loaded] == ["# as it was\n"] * len(loaded), str(ran)
    assert (stock.root / "made").read_text() == "in\n"
