"""Child runs that the model of a chat starts, by the real command on a terminal (docs/decisions/0043, section 6)."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from contract.terminal.goals import at_gate
from fakes.models.stateless_server import StatelessServer, answered
from fakes.project import git
from fakes.rundry import Home, exported_events
from fakes.terminal import Terminal
from fakes.turns import Call, Turn, call, calls, say
from fakes.wire import text_of

from rundry.agent.journal.claim import holder
from rundry.agent.journal.journal import Journal
from rundry.agent.layers.effect_rows import encode_rows
from rundry.agent.protocol import EffectsAccepted, EffectsApplied, Rule, RuleAdded

HELD = Turn(text="I think about it for a while", hold_after=4)


def child(name: str, task: str, **more: Any) -> Call:
    return Call("start_child", {"name": name, "task": task, **more})


def write(path: str, text: str) -> Turn:
    return call("write_file", path=path, content=text)


class Model(StatelessServer):
    """Answers each conversation by its first message: the n-th of its turns after n answers, and then the last one."""

    def __init__(self, talks: Mapping[str, Sequence[Turn]]) -> None:
        super().__init__(self._say)
        self.talks = dict(talks)

    def _say(self, body: dict[str, Any]) -> Turn:
        task = next(text_of(message) for message in body["messages"] if message["role"] == "user")
        turns = next(turns for name, turns in self.talks.items() if name in task)
        return turns[min(answered(body), len(turns) - 1)]

    def asked(self, task: str) -> list[Any]:
        """The requests of one conversation."""
        return [one for one in self.requests if task in text_of(next(m for m in one.messages if m["role"] == "user"))]

    def told(self) -> list[str]:
        """The results of calls that the chat was sent."""
        newest = self.asked("delegate it")[-1]
        return [text_of(message) for message in newest.messages if message["role"] == "tool"]


@contextmanager
def chat(
    home: Home, project: Path, server: Model, *more: str, rows: int = 40, columns: int = 120
) -> Iterator[Terminal]:
    options = ["--model", "fake", "--api-base", server.base_url, *more]
    with home.screen("delegate it", *options, cwd=project, rows=rows, columns=columns) as terminal:
        yield terminal


def journals(home: Home) -> tuple[Path, list[Path]]:
    """The journals of the chat and of its child runs."""
    first, *others = home.journals()
    return first, others


def kill_runner(parent: Path, terminal: Terminal) -> None:
    runner = holder(parent)
    assert runner is not None
    os.kill(runner.pid, signal.SIGKILL)
    terminal.wait_for(lambda _: holder(parent) is None)


def of_chat(home: Home, kind: str) -> list[dict[str, Any]]:
    return exported_events(home, home.journals()[0].stem, kind)


EDIT_BOTH = [{"old_text": f"line {at}\n", "new_text": f"LINE {at}\n"} for at in (2, 30)]
LONG = "".join(f"line {number}\n" for number in range(40))


def make_long(project: Path) -> Path:
    file = project / "long.txt"
    file.write_text(LONG)
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "long")
    return file


def test_a_child_knows_only_its_task_and_its_edits_are_approved_by_hunk(home: Home, project: Path):
    file = make_long(project)
    talks = {
        "delegate it": [calls(child("raise two lines", "RAISE lines 2 and 30 of long.txt")), say("It is done.")],
        "RAISE": [
            call("edit_file", path="long.txt", edits=EDIT_BOTH),
            call("run_command", command="grep -c LINE long.txt"),
            say("I raised both lines."),
        ],
    }
    with Model(talks) as server, chat(home, project, server, "--gate", "effects") as terminal:
        screen = at_gate(terminal)
        assert "changed by child 1, raise two lines" in screen and "2 hunks" in screen, screen
        assert file.read_text() == LONG, "nothing is written before the decision"
        terminal.press(" ")
        terminal.wait_for("skipped 1")
        terminal.press("y")
        terminal.wait_for("It is done.")
        assert file.read_text() == LONG.replace("line 30\n", "LINE 30\n")
        (told,) = server.told()
        first = server.asked("RAISE")[0]
        assert home.run("ctl", journals(home)[0].stem, "undo", cwd=project).exit_code == 0
        assert file.read_text() == LONG, "the chat knows what it applied"
    assert "Child 1, raise two lines: answered, 3 steps" in told and "I raised both lines." in told
    assert "Applied: `long.txt`." in told and "accepted 1 of 2 hunks" in told, told
    assert "delegate it" not in first.text and "start_child" not in first.text
    _, (of_child,) = journals(home)
    assert "2\n" in text_of([m for m in server.asked("RAISE")[2].messages if m["role"] == "tool"][-1])
    assert home.run("apply", of_child.stem, cwd=project).exit_code == 2, "nothing is staged any more"
    assert not home.kept_layers("stage")


def test_rejected_changes_of_a_child_are_dropped_and_the_model_gets_the_reason(home: Home, project: Path):
    talks = {
        "delegate it": [calls(child("a new file", "MAKE it")), say("It is done.")],
        "MAKE": [write("made.txt", "made\n"), say("I made it.")],
    }
    with Model(talks) as server, chat(home, project, server, "--gate", "ask") as terminal:
        at_gate(terminal)
        terminal.press("tab")
        terminal.wait_for("keep as the reason")
        terminal.send("not that name")
        terminal.press("enter")
        terminal.wait_gone("keep as the reason")
        terminal.press("n")
        terminal.wait_for("It is done.")
        (told,) = server.told()
    assert "Not applied: `made.txt`" in told and "not that name" in told, told
    assert not (project / "made.txt").exists() and not home.kept_layers("stage")


def test_in_edits_and_auto_only_what_asks_in_every_mode_waits(home: Home, project: Path):
    talks = {
        "delegate it": [calls(child("a new file", "MAKE it"), child("instructions", "GUIDE it")), say("It is done.")],
        "MAKE": [write("made.txt", "made\n"), say("I made it.")],
        "GUIDE": [write("AGENTS.md", "Obey.\n"), say("I wrote it.")],
    }
    with Model(talks) as server, chat(home, project, server, "--gate", "auto") as terminal:
        screen = at_gate(terminal)
        assert "changed by child 2, instructions" in screen and "AGENTS.md" in screen, screen
        terminal.press("n")
        terminal.wait_for("It is done.")
    assert (project / "made.txt").exists() and not (project / "AGENTS.md").exists()


def two_on_one_file(second: Sequence[Mapping[str, str]]) -> dict[str, Sequence[Turn]]:
    return {
        "delegate it": [calls(child("the first", "FIRST"), child("the second", "SECOND")), say("It is done.")],
        "FIRST": [call("edit_file", path="long.txt", edits=EDIT_BOTH[:1]), HELD],
        "SECOND": [call("edit_file", path="long.txt", edits=list(second)), HELD],
    }


def test_two_children_work_side_by_side_and_their_changes_of_one_file_are_merged(home: Home, project: Path):
    file = make_long(project)
    with (
        Model(two_on_one_file(EDIT_BOTH[1:])) as server,
        chat(home, project, server, "--gate", "effects") as terminal,
    ):
        server.wait_requests(5)  # each has made its edit, and neither has ended
        terminal.wait_for("2 child runs work")
        server.release()
        at_gate(terminal)
        terminal.press("y")
        terminal.wait_for("it changed meanwhile: both changes are in it")
        at_gate(terminal)
        terminal.press("y")
        terminal.wait_for("It is done.")
        assert re.search("long.txt changed by child [12], the (first|second)", terminal.text()), terminal.text()
        told = server.told()
        assert file.read_text() == LONG.replace("line 2\n", "LINE 2\n").replace("line 30\n", "LINE 30\n")
        parent = journals(home)[0].stem
        assert home.run("ctl", parent, "undo", cwd=project).exit_code == 0
        assert file.read_text().count("LINE") == 1, "each change is undone alone"
    assert [text.splitlines()[0].startswith(f"Child {n}") for n, text in enumerate(told, 1)] == [True, True], told
    assert all("Applied: `long.txt`" in text for text in told) and not home.kept_layers("stage")


def test_a_merged_file_is_a_conflict_in_a_stage_that_stays(home: Home, project: Path):
    other = project / "other.txt"
    other.write_text("as it was\n")
    file = make_long(project)
    talks = {
        "delegate it": [calls(child("the lines", "RAISE")), say("It is done.")],
        "RAISE": [
            call("edit_file", path="long.txt", edits=EDIT_BOTH[:1]),
            call("edit_file", path="other.txt", edits=[{"old_text": "as it was", "new_text": "one"}]),
            HELD,
        ],
    }
    with Model(talks) as server, chat(home, project, server, "--gate", "effects") as terminal:
        server.wait_requests(4)
        other.write_text("of the person\n")
        file.write_text(LONG.replace("line 30\n", "LINE 30\n"))
        server.release()
        terminal.wait_for("it changed meanwhile: both changes are in it")
        at_gate(terminal)
        terminal.press("y")
        terminal.wait_for("It is done.")
        staged = journals(home)[1][0].stem
    assert file.read_text().count("LINE") == 2
    shown = json.loads(home.run("apply", staged, "--json", cwd=project).stdout)
    assert {one["path"] for one in shown["entries"] if "conflict" in one} == {"long.txt", "other.txt"}, shown


def test_of_two_children_that_change_the_same_line_the_one_decided_on_second_says_that_it_stays(
    home: Home, project: Path
):
    file = make_long(project)
    other = [{"old_text": "line 2\n", "new_text": "Line two\n"}]
    with (
        Model(two_on_one_file(other)) as server,
        chat(home, project, server, "--gate", "effects") as terminal,
    ):
        server.wait_requests(5)
        terminal.wait_for("2 child runs work")
        server.release()
        screen = at_gate(terminal)
        decided = 1 if "changed by child 1" in screen else 2
        terminal.press("y")
        terminal.wait_for("It is done.")
        told = server.told()
        staged = journals(home)[1][2 - decided].stem
        row = terminal.wait_for(re.compile(f"child {3 - decided} .*answered, stays staged"))
        assert "somebody changed the same files meanwhile: `long.txt`" in row and f"rundry apply {staged}" in row, row
    kept = told[2 - decided]
    assert "Applied: `long.txt`" in told[decided - 1] and "Not applied: `long.txt`" in kept
    assert f"rundry apply {staged}" in kept
    assert file.read_text().lower().count("line 2\n") + file.read_text().count("Line two") == 1
    assert len(home.kept_layers("stage")) == 1, "what is in conflict is not lost"
    with home.screen("apply", staged, cwd=project) as terminal:
        screen = terminal.wait_for("long.txt")
        assert "not text" not in screen, screen


@pytest.mark.parametrize("key", ["y", "n"])
def test_what_a_rule_denies_among_changes_of_a_child_stays_staged_and_is_named(home: Home, project: Path, key: str):
    talks = {
        "delegate it": [calls(child("two files", "MAKE both")), say("It is done.")],
        "MAKE": [call("run_command", command="echo a > made.txt; echo b > secret.txt"), HELD],
    }
    with Model(talks) as server, chat(home, project, server, "--gate", "effects") as terminal:
        server.wait_requests(3)
        parent, (of_child,) = journals(home)
        assert home.run("ctl", parent.stem, "deny", "path:secret.txt", cwd=project).exit_code == 0
        terminal.wait_for(lambda _: bool(exported_events(home, parent.stem, "rule_added")))
        server.release()
        screen = at_gate(terminal)
        assert "made.txt" in screen
        terminal.press(key)
        terminal.wait_for("It is done.")
        assert f"rundry apply {of_child.stem}" in terminal.wait_for("stays staged")
        (told,) = server.told()
    assert "because a rule refuses `secret.txt`" in told and f"rundry apply {of_child.stem}" in told, told
    assert (project / "made.txt").exists() is (key == "y") and not (project / "secret.txt").exists()
    assert home.run("apply", of_child.stem, "--patch", "left.patch", cwd=project).exit_code == 0
    patch = (project / "left.patch").read_text()
    assert "secret.txt" in patch and ("made.txt" in patch) is (key == "n")


def test_what_somebody_changed_while_no_view_was_there_to_decide_stays_staged(home: Home, project: Path):
    file = make_long(project)
    talks = {
        "delegate it": [calls(child("two files", "RAISE it")), say("It is done.")],
        "RAISE": [
            call("edit_file", path="long.txt", edits=EDIT_BOTH),
            write("made.txt", "made\n"),
            HELD,
        ],
    }
    with Model(talks) as server:
        with chat(home, project, server, "--gate", "effects") as terminal:
            server.wait_requests(4)
            parent, (of_child,) = journals(home)
            terminal.hang_up()
            terminal.wait_for_exit()
            server.release()
            end = time.monotonic() + 60
            while not exported_events(home, parent.stem, "child_finished"):
                assert time.monotonic() < end
        applied = home.run("apply", of_child.stem, cwd=project)
        assert "its chat decides" in applied.stderr, "its stage is listed, and the chat waits for a view"
        file.write_text("other\n")
        with home.screen("watch", parent.stem, cwd=project) as terminal:
            terminal.wait_for("it changed while the command ran")
            at_gate(terminal)
            terminal.press("y")
            terminal.wait_for("It is done.")
        (told,) = server.told()
    assert f"rundry apply {of_child.stem}" in told and "meanwhile: `long.txt`" in told, told
    assert (project / "made.txt").exists() and file.read_text() == "other\n"
    assert len(home.kept_layers("stage")) == 1, "what nobody could decide on is not lost"


def test_while_the_chat_decides_the_view_of_its_ended_child_decides_nothing_and_one_esc_leads_back(
    home: Home, project: Path
):
    talks = {
        "delegate it": [calls(child("a new file", "MAKE it")), say("It is done.")],
        "MAKE": [write("made.txt", "made\n"), say("I made it.")],
    }
    with Model(talks) as server, chat(home, project, server, "--gate", "effects") as terminal:
        at_gate(terminal)
        _, (of_child,) = journals(home)
        terminal.press("esc")
        terminal.wait_for("F2 to decide")
        terminal.send("/child 1\r")
        screen = terminal.wait_for("its chat asks you about these changes")
        assert "esc parent run" in screen and "apply what is staged" not in screen and "a apply" not in screen, screen
        terminal.press("a")
        terminal.wait_for(re.compile("› +a$"))
        terminal.send("\x7f/apply\r")
        terminal.wait_for("its chat decides on these changes")
        terminal.send("and one more\r")
        terminal.wait_for(re.compile("› +and one more"))
        applied = home.run("apply", of_child.stem, cwd=project)
        assert applied.exit_code == 2 and "its chat decides" in applied.stderr, applied
        assert home.run("apply", of_child.stem, "--drop", cwd=project).exit_code == 2
        dropping = home.run("apply", "--drop-all", cwd=project)
        assert f"kept: the stage of run {of_child.stem}: its chat decides" in dropping.stdout, dropping
        terminal.press("esc")
        terminal.wait_for("press esc again")
        terminal.send("\x15")
        terminal.press("esc")
        at_gate(terminal)
        assert not exported_events(home, of_child.stem, "run_resumed")
        terminal.press("y")
        terminal.wait_for("It is done.")
    assert (project / "made.txt").read_text() == "made\n"


def test_an_interrupt_stops_the_child_and_its_changes_stay_in_its_stage(home: Home, project: Path):
    talks = {
        "delegate it": [
            calls(child("a new file", "MAKE it"), child("look", "LOOK", tools=["search"])),
            say("Then not."),
        ],
        "MAKE": [write("made.txt", "made\n"), HELD],
        "LOOK": [say("I saw it.")],
    }
    with Model(talks) as server, chat(home, project, server, "--gate", "auto") as terminal:
        server.wait_requests(4)
        terminal.wait_for(re.compile("child 2 +look.*answered"))
        terminal.wait_for("esc interrupt")
        terminal.press("esc")
        terminal.wait_for(re.compile("child 1 +a new file.*stopped"))
        terminal.send("go on\r")
        terminal.wait_for("Then not.")
        told, looked = server.told()
        _, (of_child, _) = journals(home)
        terminal.wait_for(lambda _: holder(of_child) is None)
    assert "I saw it." in looked, "what had ended stays"
    assert "The person stopped this child run." in told and f"rundry apply {of_child.stem}" in told, told
    assert not (project / "made.txt").exists()
    assert home.run("apply", of_child.stem, "--patch", "left.patch", cwd=project).exit_code == 0
    assert "+made" in (project / "left.patch").read_text()


def test_messages_are_queued_while_a_child_works_and_the_chat_hears_them_after_it(home: Home, project: Path):
    talks = {
        "delegate it": [calls(child("think", "THINK", tools=["read_file"])), say("It is done.")],
        "THINK": [HELD],
    }
    with Model(talks) as server, chat(home, project, server) as terminal:
        server.wait_requests(2)
        terminal.wait_for("a message for after this step")
        terminal.send("and mind the tabs\r")
        terminal.wait_for("and mind the tabs")
        server.release()
        terminal.wait_for("It is done.")
        assert "and mind the tabs" in server.asked("delegate it")[-1].text


def test_a_child_whose_part_of_the_budget_is_used_up_ends_and_the_chat_continues(home: Home, project: Path):
    reads = [call("read_file", path="NOTES.md", start_line=at) for at in range(1, 9)]
    talks = {
        "delegate it": [calls(child("read all", "READ all", part=30)), say("It was too much.")],
        "READ": [write("made.txt", "made\n"), *reads],
    }
    with Model(talks) as server, chat(home, project, server, "--steps", "10", "--gate", "edits") as terminal:
        terminal.wait_for("It was too much.")
        (told,) = server.told()
    assert "Child 1, read all: budget, 2 steps" in told, told
    assert (project / "made.txt").exists(), "what it had done passes the gate as usual"
    (started,), (ended,) = of_chat(home, "child_started"), of_chat(home, "child_finished")
    assert started["budget"]["steps"] == 2 and ended["limit"] == "steps" and not ended["resumes"]


def test_the_time_limit_of_a_chat_bounds_its_child_and_the_meter_never_goes_back(home: Home, project: Path):
    talks = {
        "delegate it": [calls(child("too long", "WAIT long", part=90)), say("It took too long.")],
        "WAIT": [call("run_command", command="sleep 60"), say("I stopped.")],
    }
    with Model(talks) as server, chat(home, project, server, "--gate", "effects", "--time", "6") as terminal:
        shown = list[str]()

        def is_over(lines: list[str]) -> bool:
            shown.extend(re.findall(r"(\d:\d\d)/0:06", lines[1]))
            return any("It took too long." in line for line in lines)

        terminal.wait_for(is_over)
        (told,) = server.told()
        (at_end,) = re.findall(r"(\d:\d\d)/0:06", terminal.screen()[1])
    assert "budget, 1 step" in told and "of 5.4 s" in told, told
    (ended,) = of_chat(home, "child_finished")
    assert ended["limit"] == "seconds"
    used = of_chat(home, "child_spent")[-1]["spent"]["seconds"]
    assert 3 < used < 6
    assert [*shown, at_end] == sorted([*shown, at_end]) and at_end >= f"0:0{int(used)}", (shown, at_end, used)


def test_a_second_message_has_its_whole_budget_for_child_runs(home: Home, project: Path):
    steps = [call("read_file", path="NOTES.md"), say("I read it.")]
    start = calls(child("read it", "READ it", tools=["read_file"], part=50))
    talks = {"delegate it": [start, say("First."), start, say("Second.")], "READ": steps}
    with Model(talks) as server, chat(home, project, server, "--steps", "5") as terminal:
        terminal.wait_for("First.")
        terminal.send("once more\r")
        terminal.wait_for("Second.")
        assert all("answered, 2 steps" in text for text in server.told()), server.told()
        terminal.send("/cost\r")
        terminal.wait_for(re.compile(r"child runs +2 "))


def test_a_child_asks_its_person_and_the_row_leads_to_it(home: Home, project: Path):
    talks = {
        "delegate it": [calls(child("which server", "ASK it"), child("think", "THINK")), say("It is done.")],
        "ASK": [call("ask_person", question="Which of the two servers?"), say("I used it.")],
        "THINK": [HELD],
    }
    with Model(talks) as server, chat(home, project, server) as terminal:
        terminal.wait_for("child 1 waits for you")
        terminal.press("\x1bc")  # Alt+C
        terminal.wait_for("Which of the two servers?")
        terminal.send("the second one\r")
        terminal.wait_for("I used it.")
        terminal.send("/parent\r")
        terminal.wait_for(re.compile("child 1 +which server.*answered"))
        server.release()
        terminal.wait_for("It is done.")
        assert "the second one" in server.asked("ASK")[-1].text


def test_rows_and_the_list_of_sessions_show_which_child_waits_and_what_it_used(home: Home, project: Path):
    talks = {
        "delegate it": [calls(child("more", "MAKE it"), child("think", "THINK")), say("It is done.")],
        "MAKE": [call("run_command", command="echo more > made.txt"), say("I could not.")],
        "THINK": [call("read_file", path="NOTES.md"), HELD],
    }
    with Model(talks) as server, chat(home, project, server, "--gate", "ask") as terminal:
        terminal.wait_for("child 1 waits for you")
        terminal.wait_for(re.compile(r"child 2 +think +2 steps, \$0.00 running"))
        assert "/child 1 opens it" in terminal.text()
        terminal.press("\x1bOR")  # F3
        terminal.wait_for(re.compile("waits .*└─ MAKE it"))
        assert re.search("running .*└─ THINK", terminal.text()), terminal.text()
        assert re.search("running .* delegate it", terminal.text()), terminal.text()
        terminal.press("esc")
        terminal.wait_gone("└─")
        terminal.press("\x1bc")
        terminal.wait_for(re.compile("^ rundry .*child 1 "))
        at_gate(terminal)
        assert "parent run" not in terminal.screen()[-1], "there, Esc leads to the message box"


def test_in_ask_an_edit_of_a_child_is_staged_and_its_command_asks(home: Home, project: Path):
    talks = {
        "delegate it": [calls(child("a new file", "MAKE it")), say("It is done.")],
        "MAKE": [write("made.txt", "made\n"), call("run_command", command="echo more >> made.txt"), say("I made it.")],
    }
    with Model(talks) as server, chat(home, project, server, "--gate", "ask") as terminal:
        terminal.wait_for("child 1 waits for you")
        _, (of_child,) = journals(home)
        (asked,) = [one for one in exported_events(home, of_child.stem, "proposal_opened") if one["asks"]]
        assert asked["tool"] == "run_command", asked
        assert home.run("ctl", of_child.stem, "reject", "--digest", asked["digest"], cwd=project).exit_code == 0
        at_gate(terminal)
        terminal.press("y")
        terminal.wait_for("It is done.")
    assert (project / "made.txt").read_text() == "made\n"


def test_the_mode_and_the_rules_of_the_chat_reach_a_child_that_works(home: Home, project: Path):
    talks = {
        "delegate it": [calls(child("a new file", "MAKE it")), say("It is done.")],
        "MAKE": [HELD, call("run_command", command="echo more >> made.txt"), say("I could not.")],
    }
    with Model(talks) as server, chat(home, project, server, "--gate", "auto") as terminal:
        server.wait_requests(2)
        parent, (of_child,) = journals(home)
        assert home.run("ctl", parent.stem, "deny", "command:echo", cwd=project).exit_code == 0
        terminal.send("/gate read\r")
        terminal.wait_for(re.compile("^ ?read "))
        terminal.wait_for(lambda _: bool(exported_events(home, of_child.stem, "gate_mode_changed")))
        assert exported_events(home, of_child.stem, "gate_mode_changed")[0]["mode"] == "read"
        assert exported_events(home, of_child.stem, "rule_added")


def test_what_the_gate_refuses_before_a_person_decided_stays_in_the_stage(home: Home, project: Path):
    talks = {
        "delegate it": [calls(child("a new file", "MAKE it")), say("It is done.")],
        "MAKE": [write("made.txt", "made\n"), HELD],
    }
    with Model(talks) as server, chat(home, project, server, "--gate", "effects") as terminal:
        server.wait_requests(3)
        terminal.send("/gate read\r")
        terminal.wait_for(re.compile("^ ?read "))
        server.release()
        terminal.wait_for("It is done.")
        (told,) = server.told()
    assert "stays in its stage" in told and f"rundry apply {journals(home)[1][0].stem}" in told, told
    assert len(home.kept_layers("stage")) == 1 and not (project / "made.txt").exists()


@pytest.mark.long
def test_a_killed_chat_continues_its_child_when_it_is_resumed(home: Home, project: Path):
    talks = {
        "delegate it": [calls(child("a new file", "MAKE it")), say("It is done.")],
        "MAKE": [write("made.txt", "made\n"), HELD],
    }
    with Model(talks) as server:
        with chat(home, project, server, "--gate", "effects") as terminal:
            server.wait_requests(3)
            parent, (of_child,) = journals(home)
            kill_runner(parent, terminal)
        server.release()
        with home.screen("resume", parent.stem, cwd=project) as terminal:
            assert "changed by child 1, a new file" in at_gate(terminal)
            kill_runner(parent, terminal)  # while it waits at the gate
        with home.screen("resume", parent.stem, cwd=project) as terminal:
            at_gate(terminal)
            terminal.press("y")
            terminal.wait_for("It is done.")
        (told,) = server.told()
    assert "Applied: `made.txt`." in told and (project / "made.txt").read_text() == "made\n"
    assert journals(home) == (parent, [of_child]) and len(of_chat(home, "child_started")) == 1


@pytest.mark.long
def test_a_rule_that_came_while_no_child_ran_holds_for_it_from_its_first_call_on(home: Home, project: Path):
    talks = {
        "delegate it": [calls(child("a new file", "MAKE it")), say("It is done.")],
        "MAKE": [HELD, call("run_command", command="echo more > made.txt"), say("I could not.")],
    }
    with Model(talks) as server:
        with chat(home, project, server, "--gate", "effects") as terminal:
            server.wait_requests(2)
            parent, (of_child,) = journals(home)
            kill_runner(parent, terminal)
        journal = Journal.open(parent)
        journal.append(RuleAdded(rule=Rule(verdict="deny", tool="run_command", command="echo")))
        journal.close()
        talks["MAKE"] = talks["MAKE"][1:]
        server.talks = talks
        with home.screen("resume", parent.stem, cwd=project) as terminal:
            terminal.wait_for("It is done.")
    assert exported_events(home, of_child.stem, "rule_added")
    assert not (project / "made.txt").exists()


@pytest.mark.long
def test_a_child_that_is_resumed_alone_ends_with_the_words_about_its_stage(home: Home, project: Path):
    talks = {
        "delegate it": [calls(child("a new file", "MAKE it")), say("It is done.")],
        "MAKE": [write("made.txt", "made\n"), HELD],
    }
    with Model(talks) as server:
        with chat(home, project, server, "--gate", "effects") as terminal:
            server.wait_requests(3)
            parent, (of_child,) = journals(home)
            kill_runner(parent, terminal)
        server.release()
        ran = home.run("resume", of_child.stem, "--headless", "--json", cwd=project)
        assert ran.outcome["reason"] == "handoff" and f"rundry apply {of_child.stem}" in ran.outcome["detail"], ran
        with home.screen("resume", parent.stem, cwd=project) as terminal:
            at_gate(terminal)
            terminal.press("y")
            terminal.wait_for("It is done.")
    assert (project / "made.txt").exists()


@pytest.mark.long
@pytest.mark.parametrize("became", ["lost", "conflict", "applied", "denied"])
def test_after_a_kill_while_accepted_changes_are_applied_none_of_them_is_lost(home: Home, project: Path, became: str):
    talks = {
        "delegate it": [calls(child("a new file", "MAKE it")), say("It is done.")],
        "MAKE": [write("made.txt", "made\n"), say("I made it.")],
    }
    with Model(talks) as server:
        with chat(home, project, server, "--gate", "effects") as terminal:
            at_gate(terminal)
            parent, (of_child,) = journals(home)
            kill_runner(parent, terminal)
        journal = Journal.open(parent)
        rows = journal.blobs.keep(encode_rows([]))
        journal.append(EffectsAccepted(order="1", rows=rows, command="child 1, a new file", files=1))
        if became != "lost":
            conflicts = ["made.txt: it changed"] if became == "conflict" else []
            journal.append(EffectsApplied(order="1", conflicts=conflicts))
        if became == "denied":
            journal.append(RuleAdded(rule=Rule(verdict="deny", path="made.txt")))
        journal.close()
        with home.screen("resume", parent.stem, cwd=project) as terminal:
            if became == "lost":
                at_gate(terminal)
                terminal.press("y")
            terminal.wait_for("It is done.")
        (told,) = server.told()
    if became in ("conflict", "denied"):
        assert f"rundry apply {of_child.stem}" in told and len(home.kept_layers("stage")) == 1, told
    else:
        assert "applied" in told.lower() and not home.kept_layers("stage"), told
    assert (project / "made.txt").exists() is (became == "lost")


@pytest.mark.long
@pytest.mark.parametrize("has_result", [False, True])
def test_a_chat_with_a_damaged_child_journal_can_be_resumed(home: Home, project: Path, has_result: bool):
    talks = {
        "delegate it": [calls(child("look", "LOOK", tools=["read_file"])), say("It is done.")],
        "LOOK": [say("I saw it.") if has_result else HELD],
    }
    with Model(talks) as server:
        with chat(home, project, server) as terminal:
            if has_result:
                terminal.wait_for("It is done.")
            else:
                server.wait_requests(2)
            parent, (of_child,) = journals(home)
            kill_runner(parent, terminal)
        for file in of_child.parent.glob(f"{of_child.name}*"):
            file.write_bytes(b"")
        with home.screen("resume", parent.stem, cwd=project) as terminal:
            terminal.wait_for("It is done.")
            terminal.send("go on\r")
            terminal.wait_for(lambda _: any("go on" in one.text for one in server.requests))
        (told,) = server.told()
    assert ("I saw it." in told) is has_result
    (ended,) = of_chat(home, "child_finished")
    assert has_result or (ended["reason"] == "error" and "child run 1: " in told), told


def test_a_child_that_only_reads_needs_no_stage_and_gets_no_other_tools(home: Home, project: Path):
    talks = {
        "delegate it": [calls(child("look", "LOOK", tools=["read_file", "search"])), say("It is done.")],
        "LOOK": [call("read_file", path="NOTES.md"), say("I saw it.")],
    }
    with Model(talks) as server, chat(home, project, server) as terminal:
        terminal.wait_for("It is done.")
        offered = [tool["function"]["name"] for tool in server.asked("LOOK")[0].body["tools"]]
    assert offered == ["read_file", "search", "finish"]
    _, (of_child,) = journals(home)
    assert exported_events(home, of_child.stem, "run_started")[0]["gate"] == "read"
    assert not exported_events(home, of_child.stem, "stage_began")


def test_where_there_are_no_layers_a_child_can_only_read(home_without_layers: Home, project: Path):
    home = home_without_layers
    start = calls(child("make", "MAKE it"), child("look", "LOOK", tools=["read_file"]), child("x", "X", tools=["fly"]))
    talks = {"delegate it": [start, say("It is done.")], "LOOK": [say("I saw it.")]}
    with Model(talks) as server, chat(home, project, server) as terminal:
        terminal.wait_for("It is done.")
        refused, looked, unknown = server.told()
    assert "not started: there are no layers for its changes" in refused and "read_file" in refused
    assert "I saw it." in looked and "cannot have fly: choose among read_file" in unknown


def test_a_chat_in_a_stage_has_only_child_runs_that_read(home: Home, project: Path):
    talks = {"delegate it": [calls(child("make", "MAKE it")), say("It is done.")]}
    with Model(talks) as server, chat(home, project, server, "--gate", "stage") as terminal:
        terminal.wait_for("It is done.")
        (refused,) = server.told()
    assert "a layer over a stage does not exist" in refused, refused


def test_a_goal_run_does_not_offer_child_runs(home: Home, project: Path):
    with Model({"look": [say("I saw it.")]}) as server:
        ran = home.run("-p", "look", "--model", "fake", "--api-base", server.base_url, cwd=project)
        assert ran.exit_code == 0, ran
        assert "start_child" not in server.requests[0].text
