"""The files of the container image name what is there, and let in what they copy."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
COPIED = [word for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.M) for word in line.split()[:-1]]


def test_the_image_copies_only_what_is_there_and_what_its_context_has():
    let_in = [line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")]
    assert sorted(COPIED) == sorted(let_in)
    assert [path for path in COPIED if not (ROOT / path).exists()] == []


def test_what_the_wheel_is_made_of_is_copied():
    wheel = re.search(r"targets\.wheel\]\nonly-include = (\[.+\])", (ROOT / "pyproject.toml").read_text("utf-8"))
    assert wheel is not None
    assert set(json.loads(wheel[1])) <= set(COPIED)


def test_no_package_is_installed_without_its_hash_and_no_step_runs_as_root_at_the_end():
    installs = [line for line in DOCKERFILE.splitlines() if "pip install" in line]
    assert len(installs) == 3
    assert [line for line in installs if "--require-hashes" not in line and "--no-deps /wheels/" not in line] == []
    assert re.findall(r"^USER (.+)$", DOCKERFILE, re.M)[-1] == "1000:1000"


def test_the_devcontainer_builds_a_stage_that_the_dockerfile_has():
    text = (ROOT / ".devcontainer" / "devcontainer.json").read_text("utf-8")
    settings = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.M))
    stages = re.findall(r"^FROM \S+ AS (\w+)$", DOCKERFILE, re.M)
    assert settings["build"]["target"] in stages
    assert (ROOT / ".devcontainer" / settings["build"]["dockerfile"]).resolve() == ROOT / "Dockerfile"
    assert (ROOT / settings["postCreateCommand"]).exists()
