"""What a command would change, as a list of entries: what is shown, each key, and the decision that results."""

from __future__ import annotations

import msgspec
import pytest
from fakes.played_events import started
from fakes.pressing import press
from fakes.views.gate_stage import NEW, OLD, GateStage
from painted import shows, until

from rundry.agent import EffectEntry, EntryChoice, ProposalDecided

SIZE = (120, 40)


@pytest.fixture
def several(stage: GateStage):
    """A text with three hunks, a deletion and a link."""
    return stage.effects(
        stage.text_entry("calc.py", OLD, NEW),
        stage.text_entry("old.txt", "a\nb\n", None),
        EffectEntry(path="now", kind="link", change="added", target="releases/3"),
    )


def lines(stage: GateStage) -> list[str]:
    return [" ".join(line.replace("▌", " ").split()) for line in stage.text().splitlines()]


async def test_all_entries_are_listed_and_y_approves_them(stage: GateStage, several):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), several)
        shown = lines(stage)
        assert any(line.startswith("changes of make dist 3 files +3 −5 ◉ accepted 3 ○ skipped 0") for line in shown)
        assert "▸ ◉ calc.py +3 −3" in shown and "◉ old.txt deleted −2" in shown
        assert "◉ now new, link to releases/3" in shown
        await press(pilot, "y")
        (command,) = stage.decided
        assert (command.verdict, command.entries, command.digest) == ("approve", {}, "digest-1")


async def test_space_skips_an_entry_tab_asks_why_and_the_decision_has_both(stage: GateStage, several):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), several)
        await press(pilot, "down", "space")
        assert "◉ accepted 2  ○ skipped 1" in stage.text() and 'tab why not "old.txt"' in stage.text()
        await press(pilot, "tab", *"keep it", "enter")
        await shows(pilot, "skipped: keep it")
        assert "y approve 2" in stage.text()
        await press(pilot, "y")
        (command,) = stage.decided
        assert (command.verdict, command.entries) == ("part", {1: EntryChoice(skip=True, reason="keep it")})


async def test_enter_opens_a_text_whose_hunks_are_chosen_and_y_returns_to_the_list(stage: GateStage, several):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), several)
        await press(pilot, "enter")
        await until(pilot, lambda: stage.takes_keys() and "◉ f1" in stage.text())
        assert "1 of 3 changes" in stage.text() and "y accept file" in stage.text() and "n skip file" in stage.text()
        await press(pilot, "]", "space", "end", "y")
        await until(pilot, lambda: stage.takes_keys() and "◐ calc.py" in stage.text())
        await press(pilot, "y")
        (command,) = stage.decided
        assert (command.verdict, command.entries) == ("part", {0: EntryChoice(hunks=[0, 2])})


async def test_n_in_a_text_skips_its_file_and_esc_changes_nothing(stage: GateStage, several):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), several)
        await press(pilot, "enter")
        await until(pilot, lambda: stage.takes_keys() and "◉ f1" in stage.text())
        await press(pilot, "escape")
        await until(pilot, lambda: stage.takes_keys() and "▸ ◉ calc.py" in stage.text())
        await press(pilot, "enter")
        await until(pilot, lambda: stage.takes_keys() and "◉ f1" in stage.text())
        await press(pilot, "n")
        await until(pilot, lambda: stage.takes_keys() and "○ calc.py" in stage.text())
        await press(pilot, "n")
        (command,) = stage.decided
        assert command.verdict == "reject"


async def test_an_own_text_is_kept_until_the_decision(stage: GateStage):
    opened = stage.effects(stage.text_entry("a.txt", "one\n", "two\n"), stage.text_entry("b.txt", None, "new\n"))
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), opened)
        await press(pilot, "enter")
        await until(pilot, lambda: stage.takes_keys() and "a.txt" in stage.text() and "two" in stage.text())
        await press(pilot, "e")
        await until(pilot, lambda: stage.screen.gate.editing is not None)
        await press(pilot, *"my ", "ctrl+s")
        await until(pilot, lambda: stage.takes_keys() and "my two" in stage.text())
        await press(pilot, "y")
        await until(pilot, lambda: stage.takes_keys() and "◐ a.txt" in stage.text())
        await press(pilot, "y")
        (command,) = stage.decided
        assert (command.verdict, command.entries) == ("part", {0: EntryChoice(text="my two\n")})


async def test_a_single_text_is_shown_immediately_and_y_and_n_decide(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.effects(stage.text_entry("calc.py", OLD, NEW)))
        assert "calc.py, changed by make dist" in stage.text() and "◉ f1" in stage.text()
        await press(pilot, "space", "end", "y")
        (command,) = stage.decided
        assert (command.verdict, command.entries) == ("part", {0: EntryChoice(hunks=[1, 2])})


async def test_what_asks_in_every_mode_has_its_reason_and_must_be_read_first(stage: GateStage):
    opened = stage.effects(
        stage.text_entry(".envrc", None, "export A=1\n", danger=True, why=["direnv runs it"]),
        stage.text_entry("b.txt", None, "new\n"),
    )
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), opened)
        assert "direnv runs it" in lines(stage)
        await press(pilot, "y")
        await until(pilot, lambda: stage.takes_keys() and "export A=1" in stage.text())
        assert stage.decided == [] and "read it" in stage.text()
        await press(pilot, "y")
        await until(pilot, lambda: stage.takes_keys() and "◉ .envrc" in stage.text())
        await press(pilot, "y")
        assert [command.verdict for command in stage.decided] == ["approve"]


async def test_what_is_skipped_need_not_be_read(stage: GateStage):
    opened = stage.effects(
        stage.text_entry(".envrc", None, "export A=1\n", danger=True, why=["direnv runs it"]),
        stage.text_entry("b.txt", None, "new\n"),
    )
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), opened)
        await press(pilot, "space", "y")
        assert [(c.verdict, c.entries) for c in stage.decided] == [("part", {0: EntryChoice(skip=True)})]


async def test_many_files_are_folded_by_folder_and_a_folder_is_skipped_or_unfolded(stage: GateStage):
    entries = [stage.text_entry(f"src/part{n % 6}/file{n}.py", None, "x\n" * (n % 7 + 1)) for n in range(60)]
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.effects(*sorted(entries, key=lambda one: one.path)))
        shown = lines(stage)
        assert sum("10 files, all new" in line for line in shown) == 6
        await press(pilot, "space", "enter")
        await shows(pilot, "src/part1/file1.py")
        assert "◉ accepted 50  ○ skipped 10" in stage.text()
        await press(pilot, "end", "y")
        (command,) = stage.decided
        assert len(command.entries) == 10 and all(choice.skip for choice in command.entries.values())


async def test_commits_are_skipped_with_any_of_their_files(stage: GateStage):
    opened = stage.effects(
        stage.text_entry("a.txt", "one\n", "two\n"),
        stage.text_entry("b.txt", None, "new\n"),
        EffectEntry(path="", kind="git", lines=["main: 2 commits", "  second", "  first", "index: a.txt"]),
    )
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), opened)
        assert "main: 2 commits" in lines(stage) and "second" not in lines(stage)
        await press(pilot, "space")
        await shows(pilot, "skipped: a file is not applied as the command left it")
        assert "◉ accepted 1  ○ skipped 2" in stage.text()
        await press(pilot, "end", "space")
        assert "◉ accepted 1" in stage.text()
        await press(pilot, "enter")
        await shows(pilot, "second")


async def test_a_conflict_cannot_be_accepted(stage: GateStage):
    opened = stage.effects(
        EffectEntry(path="a.txt", conflict="it changed while the command ran"),
        stage.text_entry("b.txt", None, "new\n"),
    )
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), opened)
        assert "conflict: it changed while the command ran" in lines(stage)
        await press(pilot, "space", "y")
        assert [(c.verdict, c.entries) for c in stage.decided] == [("approve", {})]


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (200, 50)])
async def test_the_end_of_a_long_list_must_be_seen_in_each_size(stage: GateStage, size):
    entries = [stage.text_entry(f"d{n}/f.py", None, "x\n") for n in range(60)]
    async with stage.app.run_test(size=size) as pilot:
        await stage.opened(pilot, started(), stage.effects(*entries, along="3 files ignored by git", along_waits=True))
        if "with it: 3 files" not in stage.text():
            await press(pilot, "y")
            assert stage.decided == []
        await press(pilot, "end")
        await shows(pilot, "with it: 3 files")
        await press(pilot, "y")
        assert [command.verdict for command in stage.decided] == ["approve"]


async def test_the_next_proposal_begins_with_all_accepted(stage: GateStage, several):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), several)
        await press(pilot, "minus", "n")
        stage.play(ProposalDecided(proposal_id="p1", decision="reject", by="person"))
        other = stage.effects(stage.text_entry("a.txt", None, "x\n"), stage.text_entry("b.txt", None, "x\n"), number=2)
        stage.play(other)
        await until(pilot, lambda: stage.takes_keys("digest-2"))
        assert "◉ accepted 2  ○ skipped 0" in stage.text()


@pytest.mark.parametrize("size", [(120, 40), (60, 20)])
@pytest.mark.parametrize("count", [1, 2])
async def test_changes_that_are_there_already_are_asked_about_under_the_reason(
    stage: GateStage, size: tuple[int, int], count: int
):
    heading = "The check passes only with these changes, and nobody decided on them"
    paths = ["tests/test_calc.py", "tests/test_more.py"][:count]
    entries = [stage.text_entry(path, OLD, NEW, danger=True) for path in paths]
    opened = stage.effects(*entries, command="the result")
    assert opened.effects is not None
    effects = msgspec.structs.replace(opened.effects, heading=heading)
    async with stage.app.run_test(size=size) as pilot:
        await stage.opened(pilot, started(), msgspec.structs.replace(opened, effects=effects))
        text = " ".join(" ".join(lines(stage)).split())
        assert "the result" not in text
        assert heading[:40] in text if size[0] == 60 else heading in text
        assert all(path in text for path in paths)
