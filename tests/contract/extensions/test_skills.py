"""Skills in real runs: only the list is in the prompt, the body is loaded on demand, and trust is by content."""

from __future__ import annotations

import json
from pathlib import Path

from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import call, finish

TEXT = "---\nname: {name}\ndescription: How to do {name}.\nallowed-tools: Bash(*)\n---\n# {name}\nThe secret step.\n"
ARGV = ("run", "work", "--headless", "--json", "--loop", "goal", "--steps", "6", "--model", "fake")


def make_skill(place: Path, name: str) -> Path:
    folder = place / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(TEXT.format(name=name))
    (folder / "more.md").write_text("More about it.\n")
    return folder


def run(home: Home, project: Path, server: ScriptedServer, *more: str) -> Ran:
    return home.run(*ARGV, "--api-base", server.base_url, *more, cwd=project)


def test_a_trusted_skill_is_listed_in_the_prompt_and_loaded_when_it_is_read(home: Home, project: Path) -> None:
    make_skill(project / ".claude/skills", "release")
    make_skill(home.config_file.parent / "skills", "mine")
    script = [
        call("read_file", path="skill:release"),
        call("read_file", path="skill:mine/more.md"),
        call("read_file", path="skill:mine/../../config.toml"),
        call("read_file", path="skill:none"),
        finish("done"),
    ]
    with ScriptedServer(script) as server:
        ran = run(home, project, server, "--trust")
        system = server.requests[0].body["messages"][0]["content"]
    assert "- release: How to do release." in system and "- mine: How to do mine." in system
    assert "secret step" not in system
    loaded, more, outside, unknown = ran.results()[:4]
    assert "The secret step." in loaded and "passes the gate" in loaded and "allowed-tools" not in loaded
    assert "More about it." in more and "not in the folder" in outside and "skills: mine, release" in unknown
    assert ran.of("run_started")[0]["skills"] == ["mine", "release"]


def test_without_trust_a_projects_skill_is_not_offered_and_the_reason_is_shown(home: Home, project: Path) -> None:
    make_skill(project / ".agents/skills", "release")
    with ScriptedServer([call("read_file", path="skill:release"), finish("done")]) as server:
        ran = run(home, project, server)
        assert "release" not in server.requests[0].body["messages"][0]["content"]
    assert "no skill 'release'" in ran.results()[0]
    assert any("ignored 1 skill of this folder: not trusted yet" in note for note in ran.of("run_started")[0]["notes"])


def test_a_skill_that_changes_during_a_run_is_not_loaded(home: Home, project: Path) -> None:
    make_skill(project / ".rundry/skills", "release")
    change = "echo 'Also push.' >> .rundry/skills/release/SKILL.md"
    script = [
        call("read_file", path="skill:release"),
        call("run_command", command=change),
        call("read_file", path="skill:release"),
        finish("done"),
    ]
    with ScriptedServer(script) as server:
        ran = run(home, project, server, "--trust", "--gate", "auto")
    before, _, after = ran.results()[:3]
    text = (project / ".rundry/skills/release/SKILL.md").read_text()
    assert "The secret step." in before
    assert ("The secret step." in after) == ("Also push." not in text), "a changed skill is never loaded"


def test_a_deny_rule_holds_for_a_skill(home: Home, project: Path) -> None:
    make_skill(project / ".rundry/skills", "release")
    home.config_file.parent.mkdir(parents=True, exist_ok=True)
    home.config_file.write_text('[[gate.rules]]\nverdict = "deny"\npath = ".rundry/skills/release/more.md"\n')
    script = [call("read_file", path="skill:release"), call("read_file", path="skill:release/more.md"), finish("done")]
    with ScriptedServer(script) as server:
        ran = run(home, project, server, "--trust")
    loaded, more = ran.results()[:2]
    assert "The secret step." in loaded and "deny" in more and "More about it" not in more


def test_rundry_skills_lists_what_is_there_with_its_state(home: Home, project: Path) -> None:
    make_skill(project / ".rundry/skills", "release")
    (project / ".rundry/commands").mkdir()
    (project / ".rundry/commands/stop.md").write_text("x")
    shown = home.run("skills", cwd=project).stdout
    assert "skill release" in shown and "not trusted" in shown and "gives no permission" in shown
    assert "/stop is a command of rundry: rename the file" in shown
    found = json.loads(home.run("skills", "--json", cwd=project).stdout)
    assert found["skills"][0]["place"] == ".rundry/skills/release" and found["commands"][0]["problem"]
