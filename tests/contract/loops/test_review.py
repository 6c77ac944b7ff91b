"""`rundry review`, the installed command: what it reviews, what it refuses, its exit codes and its exports."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from fakes.reviewing import Reviewer, committed, found, git, reviewer, write
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import Turn

BEFORE = """\
def total(prices):
    result = 0
    for at in range(len(prices)):
        result += prices[at]
    return result


def first(prices):
    return prices[0]
"""
AFTER = BEFORE.replace("range(len(prices))", "range(len(prices) - 1)")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    other = "import till\nprint(till.first([]))\n"
    return committed(tmp_path / "project", {"till.py": BEFORE, "other.py": other})


def review(home: Home, server: ScriptedServer, folder: Path, *argv: str, stdin: str | None = None) -> Ran:
    base = ["--model", "fake", "--api-base", server.base_url, "--headless", "--json", "--dry-passes", "1"]
    return home.run("review", *base, *argv, cwd=folder, stdin=stdin)


BUG = found("the last price is left out", "till.py:3", "range ends one too early")
ELSEWHERE = found("an empty list has no first price", "till.py:9")
CALLER = found("the sum of the caller is too small", "other.py:2", "because of till.py:3")
FAR = found("the caller passes an empty list", "other.py:1")


def test_the_working_tree_is_reviewed_until_dry_and_a_confirmed_finding_has_an_exit_code(home: Home, project: Path):
    (project / "till.py").write_text(AFTER)
    (project / "new.py").write_text("print('new')\n")
    with reviewer({"logic": [BUG]}) as server:
        ran = review(home, server, project)
    assert (ran.exit_code, ran.outcome["reason"], ran.outcome["complete"]) == (7, "dry", True), ran
    assert ran.outcome["findings"] == {"confirmed": 1, "refuted": 0}
    (cut,) = ran.of("diff_cut")
    assert (cut["files"], cut["parts"], cut["left_out"]) == (2, 1, [])
    (reported,) = ran.of("finding_reported")
    assert (reported["evidence"], reported["relation"]) == ("till.py:3", "changed")
    prompts = [request.body["messages"][1]["content"] for request in server.requests]
    first = next(text for text in prompts if "<diff>" in text)
    assert "     3 +     for at in range(len(prices) - 1):" in first and "file new.py, added" in first
    assert git(project, "status", "--porcelain") == " M till.py\n?? new.py"


class Writing(Reviewer):
    """A model that writes its reports and verdicts into the text of its answers."""

    def _next(self, body: dict[str, Any]) -> Turn:
        turn = super()._next(body)
        ends = turn.calls[0].name in ("report", "judge")
        return Turn(f"I looked at it.\n```json\n{turn.calls[0].json}\n```") if ends else turn


@pytest.mark.long
def test_a_model_that_writes_its_reports_as_text_reviews_like_one_that_calls(home: Home, project: Path):
    (project / "till.py").write_text(AFTER)
    with Writing({"logic": [BUG]}) as server:
        ran = review(home, server, project)
    assert (ran.exit_code, ran.outcome["reason"], ran.outcome["complete"]) == (7, "dry", True), ran
    assert ran.outcome["findings"] == {"confirmed": 1, "refuted": 0}
    assert all(event["from_text"] for event in ran.of("tool_called") if event["tool"] in ("report", "judge"))


class OfTheDiff(Reviewer):
    """A model that reports what it sees in the diff, and reads no file."""

    def _next(self, body: dict[str, Any]) -> Turn:
        return self.choose(body)


@pytest.mark.long
def test_findings_in_the_shown_diff_need_no_further_look_but_an_empty_report_does(home: Home, project: Path):
    (project / "till.py").write_text(AFTER)
    options = ("--reviewers", "1", "--refuters", "0", "--retries", "0", "--item-steps", "3")
    with OfTheDiff({"reviewer 1": [BUG]}) as server:
        sees = review(home, server, project, *options)
    with OfTheDiff({"reviewer 1": [BUG, CALLER]}) as server:
        elsewhere = review(home, server, project, *options)
    with OfTheDiff({}) as server:
        nothing = review(home, server, project, *options)
    assert [event["evidence"] for event in sees.of("finding_reported")] == ["till.py:3"]
    assert (sees.exit_code, sees.outcome["reason"]) == (7, "dry"), sees  # the next look says the same
    for blind in (elsewhere, nothing):
        assert not blind.of("finding_reported"), blind
        assert (
            blind.exit_code == 1
            and "every lens failed: its report was refused, because it read nothing" in blind.outcome["detail"]
        ), blind


def test_a_review_without_confirmed_findings_is_green(home: Home, project: Path):
    (project / "till.py").write_text(AFTER)
    with reviewer({"logic": [BUG]}, refutes=["the last price is left out"]) as server:
        ran = review(home, server, project)
    assert (ran.exit_code, ran.outcome["reason"], ran.outcome["findings"]["refuted"]) == (0, "dry", 1), ran


def test_findings_without_a_verifier_count_and_fail_on_none_ignores_them(home: Home, project: Path):
    (project / "till.py").write_text(AFTER)
    with reviewer({"logic": [BUG]}) as server:
        counted = review(home, server, project, "--refuters", "0")
        ignored = review(home, server, project, "--fail-on", "none")
    assert (counted.exit_code, ignored.exit_code) == (7, 0), (counted, ignored)
    assert ignored.outcome["findings"]["confirmed"] == 1


def test_a_finding_outside_of_the_diff_is_told_apart_and_does_not_count(home: Home, project: Path):
    (project / "till.py").write_text("# a comment\n" * 9 + AFTER)
    far = found("the caller passes an empty list", "other.py:1")
    caller = found("the sum of the caller is too small", "other.py:2", "because of till.py:12")
    with reviewer({"contracts": [far]}) as server:
        alone = review(home, server, project)
    with reviewer({"contracts": [far, caller]}) as server:
        both = review(home, server, project)
    assert (alone.exit_code, both.exit_code) == (0, 7), (alone, both)
    assert [event["relation"] for event in both.of("finding_reported")] == ["outside", "affected"]
    answer = both.outcome["answer"]
    assert answer == (
        "- the sum of the caller is too small (other.py:2)\n\n"
        "Outside of the diff:\n- the caller passes an empty list (other.py:1)"
    )
    assert "2 confirmed, 0 refuted, 1 of them outside of the diff" in both.outcome["detail"]


def test_a_range_that_is_not_checked_out_is_read_in_a_copy(home: Home, project: Path):
    git(project, "switch", "-qc", "branch")
    (project / "till.py").write_text(AFTER)
    git(project, "commit", "-qam", "two")
    git(project, "switch", "-q", "main")
    (project / "other.py").write_text("import till  # mine\n")
    with reviewer({"logic": [BUG]}) as server:
        ran = review(home, server, project, "--diff", "main...branch")
    assert (ran.exit_code, ran.outcome["reason"]) == (7, "dry"), ran
    started = ran.of("run_started")[0]
    copy = Path(started["workspace"])
    assert copy == home.runs.parent / "reviews" / started["run_id"] and (copy / "till.py").read_text() == AFTER
    assert any("copy of the new side" in note for note in started["notes"])
    assert (project / "till.py").read_text() == BEFORE and (project / "other.py").read_text() == "import till  # mine\n"
    listed = home.run("runs", "--json", "--cwd", str(project), cwd=project)
    assert started["run_id"] in listed.stdout  # it belongs to the user's folder

    with reviewer({}) as server:
        here = review(home, server, project, "--diff", "main")  # up to the working tree
    assert here.exit_code == 0 and here.of("run_started")[0]["workspace"] == str(project), here
    assert not copy.exists()  # the next review removes the copies of those that ended


@pytest.mark.long
def test_a_review_whose_copy_was_removed_is_not_resumed(home: Home, project: Path):
    git(project, "switch", "-qc", "branch")
    (project / "till.py").write_text(AFTER)
    git(project, "commit", "-qam", "two")
    git(project, "switch", "-q", "main")
    with reviewer({"logic": [BUG]}) as server:
        ran = review(home, server, project, "--diff", "main...branch", "--steps", "4")
        assert ran.exit_code == 3, ran
        started, before = ran.of("run_started")[0], Path(ran.outcome["journal"]).read_bytes()
        shutil.rmtree(started["workspace"])
        again = home.run("resume", started["run_id"], "--headless", "--steps", "none", cwd=project)
    assert again.exit_code == 2 and len(again.stderr.splitlines()) == 1, again
    assert f"the copy of the new side that this review reads was removed ({started['workspace']})" in again.stderr
    assert Path(ran.outcome["journal"]).read_bytes() == before


def test_a_checked_out_range_is_read_in_the_workspace(home: Home, project: Path):
    git(project, "switch", "-qc", "branch")
    (project / "till.py").write_text(AFTER)
    git(project, "commit", "-qam", "two")
    with reviewer({"logic": [BUG]}) as server:
        ran = review(home, server, project, "--diff", "main...HEAD")
    assert ran.exit_code == 7 and ran.of("run_started")[0]["workspace"] == str(project), ran


def test_a_patch_is_applied_in_a_copy_and_never_in_the_workspace(home: Home, project: Path, tmp_path: Path):
    (project / "till.py").write_text(AFTER)
    patch = git(project, "diff") + "\n"
    git(project, "checkout", "-q", ".")
    (tmp_path / "pull.diff").write_text(patch)
    before = git(project, "status", "--porcelain"), sorted(project.rglob("*"))
    with reviewer({"logic": [BUG]}) as server:
        from_file = review(home, server, project, "--patch", str(tmp_path / "pull.diff"))
        from_pipe = review(home, server, project, "--patch", "-", stdin=patch)
    assert (from_file.exit_code, from_pipe.exit_code) == (7, 7), (from_file, from_pipe)
    assert (git(project, "status", "--porcelain"), sorted(project.rglob("*"))) == before
    assert (project / "till.py").read_text() == BEFORE


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "no change to review: the changes of the working tree since"),
        (["--diff", "main...nowhere"], "--diff main...nowhere: there is no commit nowhere"),
        (["--diff", "--output=x"], "'--output=x' is not the name of a commit"),
        (["--diff=--output=x"], "'--output=x' is not the name of a commit"),
        (["--diff", "HEAD...HEAD"], "no change to review"),
        (["--patch", "nowhere.diff"], "--patch nowhere.diff cannot be read: No such file"),
        (["--patch", "till.py"], "--patch: it does not apply to"),
        (["--patch", "till.py", "--diff", "main"], "exclude each other"),
        (["--fail-on", "all"], "--fail-on all: use confirmed or none"),
        (["--until", "true"], "--until is for repairs: add --fix"),
        (["--comments", "till.py"], "till.py already exists"),
        (["--set", "a=b"], "--set fills the parameters of a spec file"),
        (["main", "HEAD"], "give the range with --diff main...HEAD"),
        (["--reviewers", "0"], "--reviewers"),
    ],
)
def test_what_cannot_be_reviewed_is_one_line_before_any_call(home: Home, project: Path, argv: list[str], said: str):
    with reviewer({}) as server:
        ran = review(home, server, project, *argv)
    assert (ran.exit_code, ran.stdout, len(ran.stderr.splitlines())) == (2, "", 1), ran
    assert said in ran.stderr and not server.requests and not home.journals()
    assert not (project / "x").exists()


def test_a_folder_without_git_is_refused(home: Home, tmp_path: Path):
    (tmp_path / "plain").mkdir()
    with reviewer({}) as server:
        ran = review(home, server, tmp_path / "plain")
    assert ran.exit_code == 2 and "is not in a git repository: a review needs one" in ran.stderr, ran
    assert not server.requests


def test_the_screen_cannot_read_a_patch_from_standard_input(home: Home, project: Path):
    ran = home.run("review", "--model", "fake", "--patch", "-", cwd=project)
    assert ran.exit_code == 2 and "--patch - reads standard input" in ran.stderr, ran
    later = home.run("review", "--model", "fake", "--comments", "c.json", cwd=project)
    assert later.exit_code == 2 and "--comments needs --headless" in later.stderr, later


def test_files_that_are_not_looked_at_are_named(home: Home, project: Path):
    files = {"a.bin": b"\0\1", "package-lock.json": "{}\n", "app.min.js": "x\n", ".env": "KEY=1\n", "b.py": "b = 1\n"}
    write(project, files)
    with reviewer({}) as server:
        ran = review(home, server, project)
    (cut,) = ran.of("diff_cut")
    assert cut["files"] == 1 and len(cut["left_out"]) == 4, cut
    for name in ("a.bin (a binary file)", "package-lock.json (a lock file)", "app.min.js (a generated file)"):
        assert name in cut["left_out"]
    assert any(one.startswith(".env (refused") for one in cut["left_out"])
    assert not any("KEY=1" in str(request.body) for request in server.requests)
    assert "Not looked at:\n- .env" in ran.outcome["answer"], ran


def test_a_diff_that_is_longer_than_the_window_is_cut_and_every_part_is_reviewed(home: Home, project: Path):
    write(project, {f"part{n}.py": f"value = {n}\n" * 400 for n in range(4)})
    with reviewer({}) as server:
        ran = review(home, server, project, "--context", "12000", "--steps", "none", "--tokens", "none")
    (cut,) = ran.of("diff_cut")
    assert cut["parts"] == 4 and ran.exit_code == 0, ran
    lenses = {event["name"] for event in ran.of("lens_briefed")}
    assert lenses == {
        name if part == 1 else f"{name} {part}/4"
        for name in ("logic", "errors", "security", "resources", "contracts")
        for part in range(1, 5)
    }
    prompts = [str(request.body) for request in server.requests]
    for n in range(4):
        assert any(f"+ value = {n}" in text for text in prompts)


def test_equal_reviewers_give_an_estimate_and_lenses_that_differ_do_not(home: Home, project: Path):
    (project / "till.py").write_text(AFTER)
    with reviewer({f"reviewer {n}": [BUG] for n in range(1, 5)}) as server:
        equal = review(home, server, project, "--reviewers", "4")
    with reviewer({"logic": [BUG], "errors": [BUG]}) as server:
        different = review(home, server, project)
    assert equal.outcome["estimate"]["lenses"] == 4 and different.outcome["estimate"] is None, (equal, different)


def test_the_lenses_of_a_spec_file_take_the_place_of_the_built_in_ones(home: Home, project: Path):
    (project / "till.py").write_text(AFTER)
    own = 'task = "Look at money."\n[refute]\nsceptics = 1\n[[lens]]\nname = "money"\nprompt = "Follow each sum."\n'
    (project / "mine.toml").write_text(own)
    (project / "worker.toml").write_text('task = "t"\n[[seed]]\nkind = "value"\nvalue = "x"\n')
    with reviewer({"money": [BUG]}) as server:
        ran = review(home, server, project, "mine.toml")
        refused = review(home, server, project, "worker.toml")
    assert ran.exit_code == 7 and {event["name"] for event in ran.of("lens_briefed")} == {"money"}, ran
    assert len(ran.of("vote_cast")) == 1 and "Look at money." in ran.of("run_started")[0]["task"]
    assert refused.exit_code == 2 and "a review needs [[lens]]" in refused.stderr, refused


def test_find_names_the_command_of_the_recipe_and_the_list_has_it(home: Home, project: Path):
    ran = home.run("find", "--recipe", "review", "--headless", cwd=project)
    assert ran.exit_code == 2 and "review has a command of its own: use rundry review" in ran.stderr, ran
    assert "rundry review" in home.run("recipes", cwd=project).stdout
    assert "run it      rundry review" in home.run("recipes", "show", "review", cwd=project).stdout


def test_comments_are_on_lines_of_the_diff_and_others_in_the_text_of_the_review(home: Home, project: Path):
    (project / "till.py").write_text(AFTER)
    (project / "other.py").write_text("# a comment\n" * 20 + "import till\nprint(till.first([]))\n")
    findings = [
        BUG,
        found("two lines @someone <b>x</b> ![i](http://x/)", "till.py:3-4", "<!-- rundry:fake --> ```\n@all"),
        found("an empty list has no first price", "till.py:9", "see till.py:3"),
        found("the caller is elsewhere", "mine.py:1"),
    ]
    (project / "mine.py").write_text("x = 1\n")
    git(project, "add", "mine.py")
    git(project, "commit", "-qm", "mine", "--", "mine.py")
    with reviewer({"logic": findings}) as server:
        ran = review(home, server, project, "--comments", "out.json")
        ran = review(home, server, project, "--comments", "out.json")  # replaces that of the first
        again = home.run("export", ran.of("run_started")[0]["run_id"], "--format", "comments-json", cwd=project)
    cut = ran.of("diff_cut")[0]
    assert any(one.startswith("out.json (comments of an earlier review") for one in cut["left_out"]), cut
    text = (project / "out.json").read_text()
    assert ran.exit_code == 7 and again.stdout == text, (ran, again)
    posted = json.loads(text)
    assert posted["event"] == "COMMENT" and set(posted) == {"event", "body", "comments"}
    placed = [(one["path"], one.get("start_line"), one["line"], one["side"]) for one in posted["comments"]]
    assert placed == [("till.py", None, 3, "RIGHT"), ("till.py", 3, 4, "RIGHT")]
    bodies = [one["body"] for one in posted["comments"]]
    marks = [re.findall(r"<!-- rundry:(\w+) -->", body) for body in bodies]
    assert all(len(found) == 1 for found in marks) and len({found[0] for found in marks}) == 2
    assert "rundry:fake -->" not in bodies[1].replace("<! -- rundry:fake -->", "")
    assert "`two lines @someone <b>x</b> ![i](http://x/)`" in bodies[1]  # code: nobody is mentioned
    assert "Not on a line of the diff:\n- `an empty list has no first price` `till.py:9`" in posted["body"]
    assert "Outside of what the diff changes or affects:\n- `the caller is elsewhere` `mine.py:1`" in posted["body"]


def test_comments_name_the_commit_and_need_a_review(home: Home, project: Path):
    git(project, "switch", "-qc", "branch")
    (project / "till.py").write_text(AFTER)
    git(project, "commit", "-qam", "two")
    with reviewer({"logic": [BUG]}) as server:
        review(home, server, project, "--diff", "main...HEAD", "--comments", "out.json")
        search = home.run(
            *["find", "--recipe", "research", "--task", "t", "--model", "fake", "--api-base", server.base_url],
            *["--headless", "--json"],
            cwd=project,
        )
        export = ["export", search.of("run_started")[0]["run_id"], "--format", "comments-json"]
        refused = home.run(*export, cwd=project)
    assert json.loads((project / "out.json").read_text())["commit_id"] == git(project, "rev-parse", "HEAD")
    assert refused.exit_code == 2 and "is not a review" in refused.stderr, refused


def test_the_other_exports_say_where_a_finding_lies(home: Home, project: Path):
    (project / "till.py").write_text(AFTER)
    with reviewer({"logic": [BUG]}) as server:
        run = review(home, server, project).of("run_started")[0]["run_id"]
    sarif = json.loads(home.run("export", run, "--format", "sarif", cwd=project).stdout)
    (result,) = sarif["runs"][0]["results"]
    assert result["properties"]["relation"] == "changed"
    assert result["properties"]["votes"] and str(project) not in json.dumps(result), "a path of this machine"
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 3}
    assert "place: on a line of the diff" in home.run("export", run, "--format", "findings-md", cwd=project).stdout
    table = home.run("export", run, "--format", "csv", cwd=project).stdout
    assert '"relation"' in table.splitlines()[0] and str(project) not in table
