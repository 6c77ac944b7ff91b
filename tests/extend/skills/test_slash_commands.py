from __future__ import annotations

from pathlib import Path

import pytest

from rundry.agent.extend.skills.slash_commands import SlashCommand, find_commands
from rundry.agent.protocol import UserError
from rundry.agent.settings.trust import Trust

BUILT_IN = {"stop", "edit_file"}


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_DATA_HOME": str(tmp_path / "data")}


def command(place: Path, name: str, text: str) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{name}.md"
    path.write_text(text)
    return path


def test_a_command_is_found_with_its_description_and_trusted_by_content(tmp_path: Path, env: dict[str, str]) -> None:
    path = command(
        tmp_path / ".rundry/commands", "review", "---\ndescription: Review\nargument-hint: FILE\n---\nLook at $1.\n"
    )
    command(tmp_path / "config/rundry/commands", "mine", "# My words\nGo.")
    mine, review = find_commands(tmp_path, env, BUILT_IN)
    assert (mine.description, mine.origin, mine.is_usable) == ("My words", "user", True)
    assert (review.argument_hint, review.origin, review.is_usable) == ("FILE", "project", False)
    Trust(env=env).trust_items(tmp_path, {review.place: review.digest})
    assert find_commands(tmp_path, env, BUILT_IN)[1].is_usable
    path.write_text(path.read_text() + "And push.")
    assert not find_commands(tmp_path, env, BUILT_IN)[1].is_usable


@pytest.mark.parametrize("name", ["stop", "edit-file"])
def test_the_name_of_a_built_in_command_is_refused(tmp_path: Path, env: dict[str, str], name: str) -> None:
    command(tmp_path / "config/rundry/commands", name, "x")
    (one,) = find_commands(tmp_path, env, BUILT_IN)
    assert one.problem == f"/{name} is a command of rundry: rename the file" and not one.is_usable


def test_a_users_command_wins_over_one_of_the_project(tmp_path: Path, env: dict[str, str]) -> None:
    command(tmp_path / "config/rundry/commands", "go", "mine")
    command(tmp_path / ".rundry/commands", "go", "theirs")
    mine, theirs = find_commands(tmp_path, env, BUILT_IN, trust=True)
    assert mine.is_usable and not theirs.is_usable and "same name" in theirs.problem


def test_hostile_files_are_refused_with_the_reason(tmp_path: Path, env: dict[str, str]) -> None:
    place = tmp_path / ".rundry/commands"
    command(place, "a b", "x")
    command(place, "empty", "---\ndescription: x\n---\n")
    command(place, "escape", '---\ndescription: "\x1b[31m"\n---\nx')
    command(place, "huge", "x" * 300_000)
    (place / "link.md").symlink_to("/etc/passwd")
    found = {one.name: one.problem for one in find_commands(tmp_path, env, BUILT_IN)}
    assert "lowercase" in found["a b"] and found["empty"] == "it has no text" and "control" in found["escape"]
    assert "larger than" in found["huge"] and "leads out" in found["link"]


def filled(text: str, arguments: str) -> str:
    return SlashCommand("x", "", "", "user", "x.md", text).fill(arguments)


@pytest.mark.parametrize(
    ("text", "arguments", "wanted"),
    [
        ("Do $ARGUMENTS now", "a  b", "Do a  b now"),
        ("From $1 to $2, not $3.", "'one two' b", "From one two to b, not ."),
        ("Cost: $10 and $ARGUMENTSX", "a", "Cost: $10 and $ARGUMENTSX\n\na"),
        ("Just this\n", "", "Just this"),
        ("Just this\n", "and that", "Just this\n\nand that"),
        ("$1", "$2 $1", "$2"),
        ("!`rm -rf /` $1", "x", "!`rm -rf /` x"),
    ],
)
def test_arguments_are_filled_in_and_nothing_is_executed(text: str, arguments: str, wanted: str) -> None:
    assert filled(text, arguments) == wanted


def test_an_open_quote_is_a_mistake_only_where_words_count() -> None:
    with pytest.raises(UserError, match="quote is not closed"):
        filled("$1", "it's")
    assert filled("$ARGUMENTS", "it's") == "it's"


def test_commands_for_other_programs_are_read_and_the_projects_only_if_trusted(
    tmp_path: Path, env: dict[str, str]
) -> None:
    root, home = tmp_path / "root", tmp_path / "home"
    root.mkdir()
    env["HOME"] = str(home)
    command(home / ".claude/commands", "review", "mine")
    command(root / ".rundry/commands", "review", "theirs")
    command(
        root / ".claude/commands", "fix", "---\ndescription: " + "d" * 300 + "\nargument-hint: [file]\n---\nFix $1.\n"
    )
    mine, theirs, fix = find_commands(root, env, BUILT_IN)
    assert (mine.origin, mine.is_usable, mine.text) == ("user", True, "mine")
    assert theirs.problem == f"{home}/.claude/commands/review.md has the same name and is used"
    assert (fix.origin, fix.trusted, fix.problem, len(fix.description)) == ("project", False, "", 200)
    assert find_commands(root, env, BUILT_IN, trust=True)[2].fill("a.py") == "Fix a.py."
