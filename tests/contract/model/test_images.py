"""Images from the command line: over real HTTP, through the installed command."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from fakes.pictures import SVG, png
from fakes.project import CHECK
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import HttpError, Turn, finish, say


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def run(home: Home, project: Path, server: ScriptedServer, *argv: str):
    return home.run(
        "run",
        "--headless",
        *argv,
        "--model",
        "openai/fake",
        "--api-base",
        server.base_url,
        "--usd",
        "none",
        cwd=project,
    )


def urls(server: ScriptedServer, request: int) -> list[str]:
    contents = [m["content"] for m in server.requests[request].messages if isinstance(m["content"], list)]
    return [part["image_url"]["url"] for parts in contents for part in parts if part["type"] == "image_url"]


def test_an_image_of_the_task_reaches_the_model_and_the_events_only_name_it(home: Home, project: Path):
    (project / "my shot.png").write_bytes(png())
    with ScriptedServer([finish("a cat", "README.md:1")], then=say("a cat")) as server:
        ran = run(home, project, server, 'what is in @"my shot.png"', "--json", "--loop", "naive", "--steps", "1")
        assert urls(server, 0) == [f"data:image/png;base64,{base64.b64encode(png()).decode()}"], str(ran)
    (said,) = ran.of("said")
    assert said["text"] == 'what is in @"my shot.png"'
    (image,) = said["images"]
    shape = {key: image[key] for key in ("media", "name", "width", "height", "size")}
    assert shape == {"media": "image/png", "name": "my shot.png", "width": 800, "height": 600, "size": len(png())}
    assert base64.b64encode(png())[:60].decode() not in ran.stdout
    lines = home.run("export", "--format", "jsonl", cwd=project).stdout
    assert '"name":"my shot.png","width":800,"height":600' in lines
    for kind in ("md", "html"):
        assert "[image my shot.png, 800x600]" in home.run("export", "--format", kind, cwd=project).stdout


def test_what_cannot_be_attached_ends_the_command_before_there_is_a_run(home: Home, project: Path):
    (project / "logo.svg").write_bytes(SVG)
    with ScriptedServer([say("ok")]) as server:
        ran = run(home, project, server, "make @logo.svg blue")
        assert (ran.exit_code, server.requests) == (2, [])
    assert "logo.svg is SVG: attach PNG, JPEG, GIF or WebP" in ran.stderr
    assert home.journals() == []


def test_a_model_known_to_be_blind_is_refused_with_the_way_on(home: Home, project: Path):
    (project / "shot.png").write_bytes(png())
    ran = home.run("run", "--headless", "see @shot.png", "--model", "demo/basket", "--until", CHECK, cwd=project)
    assert ran.exit_code == 2
    assert "demo/basket does not accept images: switch to a model that does" in ran.stderr


def test_a_provider_that_refuses_images_is_reported_in_one_sentence(home: Home, project: Path):
    (project / "shot.png").write_bytes(png())
    error = HttpError(400, "Invalid content type. image_url is only supported by certain models.")
    with ScriptedServer([Turn(error=error)], then=say("no image here")) as server:
        ran = run(home, project, server, "see @shot.png", "--json")
        assert len(server.requests) == 1, str(ran)
        fault = ran.of("fault")[0]["text"]
        assert fault.startswith("openai/fake does not accept images (")
        assert "image_url is only supported by certain models" in fault
        again = home.run("resume", "--headless", "--json", "--hint", "it shows a cat", cwd=project)
        assert len(server.requests) >= 2, str(again)
        assert urls(server, 1) == []
        assert "[image shot.png, 800x600]" in json.dumps(server.requests[1].messages)


def test_a_hint_carries_an_image_and_a_missing_one_is_refused(home: Home, project: Path):
    (project / "shot.png").write_bytes(png())
    with ScriptedServer([say("which one?"), say("a cat")]) as server:
        run(home, project, server, "what is in the picture?", "--loop", "naive", "--steps", "1")
        refused = home.run("resume", "--headless", "--hint", "this: @shots.png", "--steps", "2", cwd=project)
        assert refused.exit_code == 2
        assert "shots.png: there is no such file" in refused.stderr
        taken = home.run("resume", "--headless", "--hint", "this: @shot.png", "--steps", "2", cwd=project)
        assert len(urls(server, 1)) == 1, str(taken)
        assert "[image shot.png, 800x600]" in taken.stderr


def test_a_script_steers_with_an_image(home: Home, project: Path):
    (project / "shot.png").write_bytes(png())
    held = say("I think about it for a while", hold_after=4)
    argv = ["run", "fix it", "--headless", "--json", "--until", CHECK, "--model", "fake"]
    with (
        ScriptedServer([held, held]) as server,
        home.start(*argv, "--api-base", server.base_url, cwd=project) as running,
    ):
        running.wait_event("text_arrived")
        assert home.run("ctl", "steer", "see @none.png", cwd=project).exit_code == 2
        assert home.run("ctl", "steer", "like @shot.png", cwd=project).exit_code == 0
        server.wait_requests(2)
        assert len(urls(server, 1)) == 1
        home.run("ctl", "stop", "--now", cwd=project)
        running.finish()


def test_a_search_reads_no_images(home: Home, project: Path):
    (project / "shot.png").write_bytes(png())
    with ScriptedServer([say("I think about it for a while", hold_after=4)]) as server:
        argv = ["find", "--recipe", "research", "--task", "what is @shot.png for", "--model", "fake", "--headless"]
        with home.start(*argv, "--json", "--api-base", server.base_url, cwd=project) as running:
            server.wait_requests(1)
            assert urls(server, 0) == []
            refused = home.run("ctl", "steer", "see @shot.png", cwd=project)
            assert (refused.exit_code, "a search does not accept images" in refused.stderr) == (1, True)
            home.run("ctl", "stop", "--now", cwd=project)
            running.finish()
