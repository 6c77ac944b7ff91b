from __future__ import annotations

from pathlib import Path

import pytest
from fakes.played_events import started
from fakes.rundry import Home
from fakes.screens import Stage
from painted import shows, until

from rundry.agent import ConfigError, StepStarted, TextArrived
from rundry.tui.app.app import RundryApp
from rundry.tui.theme.colour_depth import TRUE_COLOR, color_depth
from rundry.tui.theme.theme import load_theme, palette_of, shipped_file
from rundry.tui.theme.user_themes import user_themes

MINE = 'name = "mine"\nbase = "dark"\n\n[tokens]\ndim = "#aabbcc"\n'


def test_a_theme_on_a_base_needs_only_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(MINE)
    theme = load_theme(path)
    assert theme.variables["style-of-dim"] == "#aabbcc"
    assert theme.variables["style-of-faint"] == load_theme(shipped_file("dark")).variables["style-of-faint"]
    assert theme.dark


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (MINE.replace("#aabbcc", "loud"), "mine.toml, line 5: tokens.dim = 'loud' is not a style"),
        (MINE.replace("dim", "dimm"), "mine.toml, line 5: tokens has no setting dimm: did you mean dim?"),
        (MINE.replace('"dark"', '"drak"'), "mine.toml, line 2: base = 'drak' is not a theme of rundry"),
        (MINE + "[colors]\nprimary = 'blau'\n", "mine.toml, line 7: colors.primary = 'blau' is not a colour"),
        (MINE + "dim = 'red'\n", "mine.toml, line 6: the theme cannot be read"),
        (MINE + "[tokns]\n", "mine.toml, line 6: tokns is not a setting of a theme"),
        (MINE + "rule = 3\n", "mine.toml, line 6: tokens.rule must be a string in quotes"),
    ],
)
def test_a_mistake_is_reported_with_its_file_and_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as raised:
        load_theme(path)
    assert said in str(raised.value)


def test_two_themes_with_one_name_and_the_name_of_a_shipped_theme_are_mistakes(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(MINE)
    (tmp_path / "b.toml").write_text(MINE)
    (tmp_path / "c.toml").write_text(MINE.replace('"mine"', '"light"'))
    found = user_themes(tmp_path)
    assert list(found.themes) == ["mine"]
    assert [path.name for path in found.mistakes] == ["b.toml", "c.toml"]


async def test_a_saved_theme_is_loaded_again_and_a_mistake_keeps_the_one_that_works(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(MINE)
    stage = Stage()
    stage.app = RundryApp(stage.controller, themes=tmp_path)
    stage.play(started(), StepStarted(number=1), TextArrived(text="Hello."))
    async with stage.app.run_test(size=(120, 30)) as pilot:
        await shows(pilot, "Hello.")
        stage.screen.action_do("theme", "mine")
        await until(pilot, lambda: stage.app.theme == "mine")

        def dim() -> str:
            color = palette_of(stage.app).dim.color
            return color.name if color is not None else ""

        assert dim() == "#aabbcc"

        def saved(text: str, color: str) -> bool:
            path.write_text(text)  # more than once: the watch may not have begun yet
            return dim() == color

        await until(pilot, lambda: saved(MINE.replace("#aabbcc", "#ddccbb"), "#ddccbb"))
        await shows(pilot, "theme mine was loaded again")
        path.write_text(MINE.replace("#aabbcc", "loud"))
        await shows(pilot, "line 5: tokens.dim = 'loud' is not a style")
        assert dim() == "#ddccbb"
        path.write_text(MINE)
        await until(pilot, lambda: dim() == "#aabbcc")


def test_doctor_and_config_check_report_an_unknown_theme_and_a_mistake(home: Home, tmp_path: Path) -> None:
    themes = home.config_file.parent / "themes"
    themes.mkdir(parents=True)
    project = tmp_path / "project"
    project.mkdir()
    home.config_file.write_text('model = "fake"\ntheme = "mauve"\n')
    for command, code in ((("doctor",), 2), (("config", "check"), 2), (("config", "themes"), 2)):
        told = home.run(*command, cwd=project)
        assert told.exit_code == code, told
        said = told.stdout + told.stderr
        assert 'config.toml, line 2: theme = "mauve" is not a theme: use one of dark, light' in said
    (themes / "mauve.toml").write_text(MINE.replace("mine", "mauve"))
    assert home.run("config", "check", cwd=project).exit_code == 0
    listed = home.run("config", "themes", cwd=project)
    assert "* mauve" in listed.stdout and str(themes / "mauve.toml") in listed.stdout
    (themes / "bad.toml").write_text(MINE.replace("#aabbcc", "loud").replace("mine", "bad"))
    told = home.run("config", "check", cwd=project)
    assert told.exit_code == 2 and "bad.toml, line 5: tokens.dim = 'loud' is not a style" in told.stderr


@pytest.mark.parametrize(
    ("env", "colors", "depth"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, 256, TRUE_COLOR),
        ({"TERM": "xterm-256color"}, 256, 256),
        ({"TERM": "tmux-256color"}, TRUE_COLOR, TRUE_COLOR),
        ({"TERM": "xterm-direct"}, None, TRUE_COLOR),
        ({"TERM": "alacritty"}, None, TRUE_COLOR),
        ({"TERM": "xterm", "TERM_PROGRAM": "WezTerm"}, 8, TRUE_COLOR),
        ({"TERM": "xterm"}, 8, 16),
        ({"TERM": "linux"}, 8, 16),
        ({"TERM": "never-heard-of"}, None, 16),
        ({"TERM": "vt100"}, -1, 0),
        ({"TERM": "dumb"}, None, 0),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": ""}, 256, 0),
    ],
)
def test_the_number_of_colours_is_detected(env: dict[str, str], colors: int | None, depth: int) -> None:
    assert color_depth(env, lambda term: colors) == depth
