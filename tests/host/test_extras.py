"""What an extra that is missing says."""

import os
import subprocess
import sys
from pathlib import Path

from rundry.agent.host.extras import missing_extra


def test_an_extra_that_is_there_is_not_missing():
    assert missing_extra("dask", "sys", "json") is None


def test_a_missing_extra_names_the_command_that_installs_its_packages(tmp_path: Path):
    said = missing_extra("dask", "json", "no_such_module")
    assert said is not None and "distributed>=" in said and "cryptography>=" in said and sys.executable in said
    command = said.partition(": ")[2]
    assert "pip install" in command
    shown = subprocess.run(
        ["sh", "-c", f"for word in {command.partition('install')[2]}; do echo $word; done"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.split()[-1].startswith("distributed>="), "a shell reads each package as one word"
    assert not list(tmp_path.iterdir()), "no version is taken as a redirection"
