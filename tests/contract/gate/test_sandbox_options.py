"""What the user adds to the surroundings of commands: `[sandbox]` and `--sandbox-env`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import call, say


def printed(home: Home, project: Path, *flags: str, command: str = "env") -> str:
    """What a command of a run printed."""
    out = project / "printed"
    out.unlink(missing_ok=True)
    with ScriptedServer([call("run_command", command=f"{command} > printed"), say("done")]) as server:
        words = ["--until-file", "printed", "--gate", "auto", "--model", "fake", "--api-base", server.base_url]
        ran = home.run("run", "print it", "--headless", *words, *flags, cwd=project)
    assert ran.exit_code == 0, ran
    return out.read_text()


def test_a_command_of_a_run_gets_only_variables_that_are_listed_or_added(home: Home, project: Path):
    home.env |= {
        "MYAPP_MODE": "fast",
        "MYAPP_SECRET": "hush",
        "DJANGO_SETTINGS_MODULE": "site.settings",
        "NODE_ENV": "n",
    }
    home.config_file.parent.mkdir(parents=True)
    home.config_file.write_text('[sandbox]\nenv = ["MYAPP_*"]\n')
    seen = printed(home, project, "--sandbox-env", "DJANGO_SETTINGS_MODULE")
    assert "MYAPP_MODE=fast" in seen and "DJANGO_SETTINGS_MODULE=site.settings" in seen and "NODE_ENV=n" in seen
    assert "hush" not in seen
    assert "DJANGO_SETTINGS_MODULE" not in printed(home, project)


def test_doctor_lists_the_names_of_variables_that_commands_do_not_get(home: Home, project: Path):
    home.env |= {"MYAPP_MODE": "fast-value", "PGPASSWORD": "pw-value"}
    ran = home.run("doctor", cwd=project)
    assert (
        "MYAPP_MODE" in ran.stdout and "PGPASSWORD" in ran.stdout and "value" not in ran.stdout.split("PGPASSWORD")[0]
    )
    told = json.loads(home.run("doctor", "--json", "--sandbox-env", "MYAPP_*", cwd=project).stdout)
    assert "PGPASSWORD" in told["variables_left_out"] and "MYAPP_MODE" not in told["variables_left_out"]


@pytest.mark.parametrize("words", [["run", "--headless", "x"], ["run", "--headless", "--json", "x"], ["doctor"]])
def test_a_workspace_that_is_the_folder_of_journals_is_refused_with_one_line(
    home: Home, project: Path, words: list[str]
):
    (home.root / "link").symlink_to(project)
    for place in (project, home.root / "link"):
        ran = home.run(*words, "--runs-dir", str(place), cwd=project)
        assert ran.exit_code == 2 and "--runs-dir" in ran.stderr and len(ran.stderr.splitlines()) == 1, ran
    assert not list(project.glob("**/*.db"))


@pytest.mark.parametrize("value", ["A=b", "", "a b", "*", "9x"])
def test_a_value_that_is_not_a_variables_name_is_refused(home: Home, project: Path, value: str):
    ran = home.run("run", "--headless", "--sandbox-env", value, "x", cwd=project)
    assert ran.exit_code == 2 and "--sandbox-env" in ran.stderr and not list(home.runs.glob("*.db"))


def test_a_projects_config_adds_a_variable_once_it_is_trusted_and_never_shows_a_secret(home: Home, project: Path):
    home.env["MYAPP_MODE"] = "fast"
    (project / ".rundry.toml").write_text('[sandbox]\nenv = ["MYAPP_MODE"]\n')
    assert "MYAPP_MODE" not in printed(home, project)
    assert "MYAPP_MODE=fast" in printed(home, project, "--trust")
    (project / ".rundry.toml").write_text('[sandbox]\nshow = ["~/.ssh"]\n')
    ran = home.run("run", "--headless", "--trust", "x", cwd=project)
    assert ran.exit_code == 2 and "sandbox.show is for the user's own config" in ran.stderr


def without_bubblewrap(home: Home, place: Path) -> None:
    """A bubblewrap that does not work stands first in PATH."""
    place.mkdir()
    (place / "bwrap").write_text("#!/bin/sh\nexit 1\n")
    (place / "bwrap").chmod(0o755)
    home.env["PATH"] = f"{place}:{home.env['PATH']}"


def test_a_run_says_in_one_line_what_the_sandbox_does_not_hold(home: Home, project: Path, tmp_path: Path):
    without_bubblewrap(home, tmp_path / "broken")
    told = json.loads(home.run("doctor", "--json", cwd=project).stdout)
    if told["sandbox"] != "landlock":
        pytest.skip("this kernel has no Landlock")
    assert "sockets of services on this machine (docker, dbus)" in told["not_held"]
    listed = home.run("doctor", cwd=project).stdout
    assert "not held   sockets of services" in listed
    with ScriptedServer(then=say("done")) as server:
        words = ["--loop", "naive", "--model", "fake", "--api-base", server.base_url]
        ran = home.run("run", "look", "--headless", *words, cwd=project)
        as_json = home.run("run", "look", "--headless", "--json", *words, cwd=project)
    line = next(line for line in ran.stderr.splitlines() if line.startswith("landlock does not guarantee "))
    assert "unix sockets" in line and "UDP" in line and "`rundry doctor`" in line
    assert "unix sockets" in as_json.of("run_started")[0]["not_held"]


def test_a_run_reaches_listed_hosts_only_and_says_which(home: Home, project: Path):
    flags = ["--sandbox-host", "*.example.org", "--sandbox-host", "pypi.org:8443"]
    if json.loads(home.run("doctor", "--json", cwd=project).stdout)["sandbox"] != "bubblewrap":
        pytest.skip("a list of hosts needs bubblewrap")
    assert "off for commands, except *.example.org, pypi.org:8443" in home.run("doctor", *flags, cwd=project).stdout
    with ScriptedServer([call("run_command", command="curl -sS http://evil.com/"), say("done")]) as server:
        words = ["--loop", "naive", "--gate", "auto", "--model", "fake", "--api-base", server.base_url]
        ran = home.run("run", "look", "--headless", "--json", *flags, *words, cwd=project)
    assert "commands can reach only these hosts: *.example.org, pypi.org:8443" in ran.stdout
    assert "[rundry: refused evil.com:80: not in [sandbox] hosts]" in ran.results("run_command")[0]


def test_a_wrong_host_is_a_usage_error_and_a_folder_cannot_add_one(home: Home, project: Path):
    ran = home.run("run", "look", "--headless", "--sandbox-host", "https://pypi.org/", cwd=project)
    assert ran.exit_code == 2 and "is not a host: write a name like" in ran.stderr and not home.journals()
    (project / ".rundry.toml").write_text('[sandbox]\nhosts = ["evil.com"]\n')
    assert "evil.com" not in home.run("doctor", "--trust", cwd=project).stdout.partition("\n\n")[0]
