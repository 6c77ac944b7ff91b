"""A file that the command line names chooses nothing unless the person trusts it (docs/requirements.md 11.4)."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes.models.model_by_role import NOTHING
from fakes.project import CHECK
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import call, finish, say

from rundry.agent.settings.trust import Trust

GOAL = 'kind = "goal"\ntask = "look at it"\n'
SEARCH = 'task = "look at it"\ncritic = false\n[refute]\nsceptics = 0\n'
LENS = '[[lens]]\nname = "one"\nprompt = "look"\n'
SEED = '[[seed]]\nkind = "value"\nvalue = "1"\n'
GOALS = {
    "until": 'until = ["touch {mark}"]\n',
    "until_file": 'until_file = ["x"]\n',
    "until_py": 'until_py = ["check.py:done"]\n',
    "schema": 'schema = "schema.json"\n',
    "require": 'require = ["run_command"]\n',
    "confirm_with": 'confirm_with = "touch {mark}"\n',
    "guard": 'guard = ["none"]\n',
    "[model] api_base": '[model]\nname = "openai/fake"\napi_base = "{server}"\n',
    "[model] price": '[model]\nprice = "0/0"\n',
    "[model] params": '[model]\nparams = {{ server_url = "{server}" }}\n',
    "[model] name": '[model]\nname = "huggingface/https://127.0.0.1/x"\n',
    "[gate] mode": '[gate]\nmode = "auto"\n',
}
SEARCHES = {
    "[worker] command": SEED + '[worker]\ncommand = ["touch", "{mark}"]\n',
    "[worker] python": SEED + '[worker]\npython = "check:done"\n',
    "[seed] kind": '[[seed]]\nkind = "url"\nvalue = "{server}"\n[worker]\nrecipe = "crawl"\n',
    "[migrate] check": '[migrate]\ncheck = "touch {mark}; test -e {{file}}"\n',
    "hosts": 'hosts = ["evil.example"]\n',
    "[model] api_base": '[model]\nname = "openai/fake"\napi_base = "{server}"\n' + LENS,
    "[lens] model": '[[lens]]\nname = "one"\nprompt = "look"\nmodel = "huggingface/http://127.0.0.1/x"\n',
}
CASES = [("run", GOAL, key, body) for key, body in GOALS.items()] + [
    ("find", SEARCH, key, body) for key, body in SEARCHES.items()
]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(then=finish("done")) as made:
        yield made


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder of somebody else, next to the person's own project."""
    made = tmp_path / "clone"
    made.mkdir()
    (made / "check.py").write_text(f"open({str(tmp_path / 'owned')!r}, 'w')\n\n\ndef done(_):\n    return True\n")
    (made / "schema.json").write_text("{}")
    return made


def write(folder: Path, body: str, server: ScriptedServer, name: str = "spec.toml") -> Path:
    text = body.format(mark=folder.parent / "owned", server=server.base_url)
    if "[migrate]" in text:
        text = text.replace("[refute]\nsceptics = 0\n", "")
    if text.startswith(SEARCH) and "hosts = " in text:
        text = (
            text.replace('hosts = ["evil.example"]\n', "").replace(SEARCH, 'hosts = ["evil.example"]\n' + SEARCH) + LENS
        )
    (folder / name).write_text(text)
    return folder / name


def refused(ran: Ran, key: str) -> str:
    """Return the line to type."""
    assert ran.exit_code == 2, ran
    (line,) = ran.stderr.splitlines()
    said, _, typed = line.partition(" read it, then use ")
    assert "is not trusted" in said and key in said, ran
    return typed


@pytest.mark.parametrize(("command", "head", "key", "body"), CASES, ids=[f"{case[0]} {case[2]}" for case in CASES])
def test_a_file_that_chooses_something_is_refused_before_anything_happens(
    home: Home, project: Path, clone: Path, server: ScriptedServer, command: str, head: str, key: str, body: str
):
    path = write(clone, head + body, server)
    key_of_person = {"OPENAI_API_KEY": "sk-of-the-person", "OPENAI_BASE_URL": server.base_url}
    for cwd, named in ((project, "../clone/spec.toml"), (clone, "spec.toml"), (project, str(path))):
        typed = refused(home.run(command, named, "--headless", cwd=cwd, env=key_of_person), key)
        assert typed == shlex.join(["rundry", command, "--trust", named, "--headless"])
    assert home.journals() == [] and server.requests == [] and not (clone.parent / "owned").exists()


def test_the_line_to_type_works_and_a_server_of_the_file_gets_no_key(
    home: Home, project: Path, clone: Path, server: ScriptedServer
):
    write(clone, GOAL + GOALS["until"] + GOALS["[model] api_base"], server)
    env = {"OPENAI_API_KEY": "sk-of-the-person"}
    typed = refused(home.run("../clone/spec.toml", "--headless", "--steps", "2", cwd=project, env=env), "until")
    done = subprocess.run(
        ["bash", "-c", typed], cwd=project, env={**home.env, **env}, capture_output=True, text=True, timeout=120
    )
    assert "not trusted" not in done.stderr and home.journals(), done
    assert all("sk-of-the-person" not in str(request) for request in server.requests), done


def test_an_option_names_a_server_for_the_key_that_a_trusted_file_may_not(
    home: Home, project: Path, clone: Path, server: ScriptedServer
):
    write(clone, GOAL + '[model]\nname = "openai/fake"\napi_base = "http://127.0.0.1:9/v1"\n', server)
    argv = ["run", "../clone/spec.toml", "--trust", "--headless", "--api-base", server.base_url]
    ran = home.run(*argv, cwd=project, env={"OPENAI_API_KEY": "sk-of-the-person"})
    assert ran.exit_code != 2 and server.requests, ran
    assert any("sk-of-the-person" in str(request) for request in server.requests)


def test_what_chooses_nothing_needs_no_trust(home: Home, project: Path, clone: Path):
    body = (
        SEARCH.replace("critic = false", "critic = false\nconcurrency = 2\nitem_steps = 3")
        + LENS
        + '[model]\nname = "openai/fake"\nparams = { temperature = 0.5 }\n[budget]\nsteps = 9\n'
        + '[[seed]]\nkind = "file"\nvalue = "a"\n'
    )
    (clone / "search.toml").write_text(body)
    (clone / "goal.toml").write_text(
        GOAL + 'tools = ["read_file"]\nverify = "on-claim"\n[gate]\nmode = "read"\non_ask = "refuse"\n'
    )
    for command, name in (("find", "search.toml"), ("run", "goal.toml")):
        with ScriptedServer(then=NOTHING if command == "find" else finish("seen")) as server:
            named = ["--model", "openai/fake", "--api-base", server.base_url]
            ran = home.run(command, f"../clone/{name}", "--headless", *named, cwd=project)
        assert ran.exit_code != 2 and server.requests, ran


@pytest.mark.parametrize("where", ["beside", "below", "recipe"])
def test_trust_of_a_folder_holds_for_the_file_as_it_was(
    home: Home, project: Path, clone: Path, server: ScriptedServer, where: str
):
    folder = clone / {"beside": ".", "below": "ci/goals", "recipe": ".rundry/recipes"}[where]
    folder.mkdir(parents=True, exist_ok=True)
    path = write(folder, GOAL + 'until = ["true"]\nany = true\n', server)
    argv = ["run", str(path), "--headless", "--model", "fake", "--api-base", server.base_url]
    refused(home.run(*argv, cwd=project), "until")
    assert path.relative_to(clone).as_posix() in Trust(env=home.env).trust(clone)
    ran = home.run(*argv, cwd=project)
    assert "not trusted" not in ran.stderr and home.journals(), ran
    before = path.read_text()
    path.write_text(before.replace('"true"', '"true #"'))
    refused(home.run(*argv, cwd=project), "until")
    path.write_text(before)
    assert "not trusted" not in home.run(*argv, cwd=project).stderr


def test_a_rule_that_always_wrote_does_not_trust_new_files(home: Home, project: Path, server: ScriptedServer):
    from rundry.agent.protocol import Rule
    from rundry.agent.settings.remembered import RememberedRules

    Trust(env=home.env).trust(project)
    write(project, GOAL + 'until = ["true"]\n', server)
    RememberedRules(project, home.env).add(Rule(verdict="allow", command="git status"))
    refused(home.run("run", "spec.toml", "--headless", cwd=project), "until")


def linked(path: Path, project: Path) -> Path:
    (project / "mine.toml").symlink_to(path)
    return project / "mine.toml"


def hard_linked(path: Path, project: Path) -> Path:
    os.link(path, project / "mine.toml")
    return project / "mine.toml"


def copied(path: Path, project: Path) -> Path:
    return Path(shutil.copy(path, project / "mine.toml"))


@pytest.mark.parametrize("placed", [linked, hard_linked, copied])
def test_trust_of_another_folder_does_not_cover_a_file_that_came_into_it(
    home: Home, project: Path, clone: Path, server: ScriptedServer, placed: Callable[[Path, Path], Path]
):
    (project / ".rundry.toml").write_text("[budget]\nsteps = 9\n")
    Trust(env=home.env).trust(project)
    path = placed(write(clone, GOAL + GOALS["until"], server), project)
    refused(home.run("run", str(path), "--headless", cwd=project), "until")
    assert not (clone.parent / "owned").exists()


def test_the_person_s_own_config_folder_is_trusted_also_through_a_link(
    home: Home, project: Path, server: ScriptedServer
):
    folder = home.config_file.parent / "recipes"
    folder.mkdir(parents=True)
    path = write(folder, GOAL + 'until = ["true"]\nany = true\n', server, "mine.toml")
    (project / "link.toml").symlink_to(path)
    for named in ("mine", str(path), "link.toml"):
        ran = home.run("run", named, "--headless", "--model", "fake", "--api-base", server.base_url, cwd=project)
        assert "not trusted" not in ran.stderr, ran
    assert len(home.journals()) == 3


def test_a_file_on_standard_input_is_not_trusted(home: Home, project: Path, clone: Path, server: ScriptedServer):
    path = write(clone, SEARCH + SEARCHES["[worker] command"], server)
    for words in (["find", "/dev/stdin"], ["find", "/proc/self/fd/0"]):
        with path.open() as given:
            done = subprocess.run(
                [shutil.which("rundry", path=home.env["PATH"]) or "rundry", *words, "--headless"],
                cwd=project, env=home.env, stdin=given, capture_output=True, text=True, timeout=60,
            )  # fmt: skip
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done
    assert not (clone.parent / "owned").exists() and home.journals() == []


def test_a_repeated_search_and_its_resumption_read_the_same_rule(
    home: Home, project: Path, clone: Path, server: ScriptedServer
):
    write(clone, SEARCH + SEARCHES["[worker] command"], server)
    more = ["--headless", "--steps", "3"]
    refused(home.run("find", "../clone/spec.toml", "--every", "1h", *more, cwd=project), "[worker] command")
    refused(home.run("find", "../clone/spec.toml", "--resume", *more, cwd=project), "[worker] command")


def test_a_trusted_run_resumes_with_what_was_decided_at_its_start(
    home: Home, project: Path, clone: Path, server: ScriptedServer
):
    path = write(clone, GOAL + f"until = [{CHECK!r}]\n", server)
    argv = ["--headless", "--steps", "1", "--model", "fake", "--api-base", server.base_url]
    server.turns.append(call("list_files"))
    ran = home.run("run", str(path), "--trust", *argv, cwd=project)
    assert ran.exit_code == 3, ran
    path.write_text("no longer TOML [")
    ran = home.run("resume", home.journals()[0].stem, "--headless", "--json", "--steps", "2", cwd=project)
    assert ran.exit_code == 3 and {str(check["command"]) for check in ran.of("check_finished")} <= {CHECK}, ran


@pytest.fixture
def foreign(home: Home, project: Path, clone: Path) -> Path:
    """A journal that came with a clone: of a run that has not ended its task, with a check."""
    with ScriptedServer([call("list_files")], then=say("so far")) as server:
        argv = ["run", "x", "--until", CHECK, "--steps", "1", "--headless", "--model", "fake", "--api-base"]
        assert home.run(*argv, server.base_url, cwd=project).exit_code == 3
    (journal,) = home.journals()
    for path in journal.parent.glob(f"{journal.stem}*"):
        shutil.move(path, clone / path.name)
    return clone / journal.name


def test_a_journal_from_elsewhere_runs_nothing_without_trust(home: Home, project: Path, foreign: Path):
    for words in (
        ["resume", str(foreign), "--headless"],
        ["resume", f"../clone/{foreign.name}", "--headless", "--steps", "9"],
        ["approve", str(foreign), "--digest", "abcdefab"],
        ["reject", str(foreign), "--digest", "abcdefab"],
        ["fork", str(foreign)],
        ["verify", str(foreign)],
        ["fix", str(foreign), "--until", "true", "--steps", "3", "--headless"],
    ):
        ran = home.run(*words, cwd=project)
        assert ran.exit_code == 2 and "not in your folder of journals" in ran.stderr, ran
        assert ran.stderr.strip().endswith(shlex.join(["rundry", words[0], "--trust", *words[1:]])), ran
    assert home.journals() == []
    for words in (["export", str(foreign)], ["check", str(foreign)]):  # they only read
        assert home.run(*words, cwd=project).exit_code == 0


def test_a_trusted_journal_from_elsewhere_is_resumed(home: Home, project: Path, foreign: Path):
    ran = home.run("verify", str(foreign), "--trust", cwd=project)
    assert ran.exit_code == 1, ran  # its suite is red
    assert home.run("fork", str(foreign), "--trust", cwd=project).exit_code == 0
    ran = home.run("resume", str(foreign), "--trust", "--headless", "--steps", "1", cwd=project)
    assert "not in your folder" not in ran.stderr, ran


def test_a_watched_journal_from_elsewhere_is_not_resumed_from_the_screen(home: Home, project: Path, foreign: Path):
    before = foreign.read_bytes()
    with home.screen("watch", str(foreign), cwd=project) as terminal:
        terminal.wait_for("raise the limit to continue")
        terminal.press(*"/resume go on", "enter")
        terminal.wait_for("not in your folder of journals")
    assert foreign.read_bytes() == before
