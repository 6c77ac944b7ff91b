"""The man page: in the wheel, from `rundry man`, and without a warning of groff."""

from __future__ import annotations

import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from fakes.building import build
from fakes.rundry import Home

REPOSITORY = Path(__file__).parents[3]


def test_the_page_names_every_command_and_option_and_groff_accepts_it(home: Home, project: Path):
    page = home.run("man", cwd=project)
    assert (page.exit_code, page.stderr) == (0, ""), page
    text = page.stdout.replace("\\-", "-")
    listed = home.run("help", cwd=project).stdout
    commands = re.findall(r"(?m)^  ([a-z]+)  ", listed.split("Commands:")[1].split("\n\n")[0])
    assert len(commands) > 20
    for name in commands:
        assert f".SS rundry {name}" in text
    for option in set(re.findall(r"(?m)^  (?:-[a-zA-Z], )?(--[a-z-]+)", listed)):
        assert option in text
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    checked = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-z"], input=page.stdout, capture_output=True, text=True, timeout=60
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_wheel_holds_the_page_the_themes_and_the_tables(home: Home, project: Path, tmp_path: Path):
    with zipfile.ZipFile(build(tmp_path, "wheel", env=home.env)) as wheel:
        names = wheel.namelist()
        (page,) = [name for name in names if name.endswith("share/man/man1/rundry.1")]
        assert wheel.read(page).decode() == home.run("man", cwd=project).stdout
    held = {name.removeprefix("rundry/") for name in names}
    for folder, ending in (("themes", "*.toml"), ("tui", "*.tcss"), ("agent", "*.json"), ("agent", "*.toml")):
        for path in (REPOSITORY / folder).rglob(ending):
            assert str(path.relative_to(REPOSITORY)) in held
