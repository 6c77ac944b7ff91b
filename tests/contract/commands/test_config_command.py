"""`rundry config` and `rundry config keys`: settings with their origin, keys, and what is wrong with `[keys]`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.rundry import Home


def with_config(home: Home, text: str) -> None:
    home.config_file.parent.mkdir(parents=True)
    home.config_file.write_text(text)


def test_config_shows_each_setting_as_doctor_does(home: Home, project: Path):
    with_config(home, "[budget]\nsteps = 12\n")
    shown = home.run("config", cwd=project, env={"RUNDRY_USD": "3"})
    assert (shown.exit_code, shown.stderr) == (0, ""), shown
    rows = {line.split()[0]: line.split(None, 1)[1] for line in shown.stdout.splitlines()}
    assert rows["steps"].split() == ["12", "user", "config"]
    assert rows["usd"].split() == ["3.0", "environment", "RUNDRY_USD"]
    assert shown.stdout in home.run("doctor", cwd=project, env={"RUNDRY_USD": "3"}).stdout
    told = json.loads(home.run("config", "--json", cwd=project).stdout)
    assert told["settings"]["steps"] == {"value": 12, "origin": "user config"}


def test_config_keys_lists_each_action_and_what_is_remapped(home: Home, project: Path):
    with_config(home, '[keys]\npause = "ctrl+y"\nreject = "x,n"\n')
    shown = home.run("config", "keys", cwd=project)
    assert (shown.exit_code, shown.stderr) == (0, ""), shown
    (pause,) = [line for line in shown.stdout.splitlines() if line.startswith("pause ")]
    assert pause.split()[1:3] == ["ctrl+y", "everywhere"] and "(default: f4)" in pause
    told = json.loads(home.run("config", "keys", "--json", cwd=project).stdout)
    keys = {row["action"]: row for row in told["keys"]}
    assert keys["reject"]["keys"] == ["x", "n"] and keys["reject"]["default"] == ["n"]
    assert not keys["stop"]["remapped"] and told["wrong"] == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('paus = "f4"', "did you mean pause?"),
        ('pause = "ctl+y"', '"ctl+y" is not a key'),
        ('pause = "f44"', '"f44" is not a key'),
        ('pause = "p"', '"p" is typed into the message'),
        ('next_hunk = "]"', "right_square_bracket"),
        ('pause = "f8"', '"f8" is also the key of stop'),
        ('reject = "r"', '"r" is also the key of again, at the gate'),
    ],
)
def test_a_key_that_cannot_work_is_reported_with_its_line(home: Home, project: Path, line: str, words: str):
    with_config(home, f'theme = "dark"\n\n[keys]\n# mine\nwake = "f9"\n{line}\n')
    for argv in (["config", "keys"], ["doctor"]):
        ran = home.run(*argv, cwd=project)
        assert ran.exit_code == 2 and "Traceback" not in ran.stderr, ran
        (said,) = [each for each in (ran.stdout + ran.stderr).splitlines() if "[keys]" in each]
        assert "config.toml, line 6: [keys]" in said and words in said


def test_the_screen_opens_with_one_line_about_wrong_keys_and_the_default_key_works(home: Home, project: Path):
    with_config(home, '[keys]\nhelp = "ctl+y"\npaus = "f4"\n')
    with home.screen(cwd=project, columns=160) as terminal:
        terminal.wait_for("line 2: [keys] help")
        terminal.wait_for("2 wrong keys (`rundry config keys`)")
        terminal.press("f1")
        terminal.wait_for("Show keys")


@pytest.mark.parametrize(
    ("argv", "config"),
    [(["config", "kyes"], ""), (["config", "keys"], "[keys]\npause = 4\n"), (["config"], "steps = 'x'\n")],
)
def test_what_cannot_be_read_is_one_line(home: Home, project: Path, argv: list[str], config: str):
    with_config(home, config)
    ran = home.run(*argv, cwd=project)
    assert (ran.exit_code, ran.stdout, len(ran.stderr.splitlines())) == (2, "", 1), ran
