"""The rules that the gate offers for a command: all its words, or the program and its subcommand (decisions/0043)."""

from __future__ import annotations

import asyncio

import pytest
from gate.offered_rules import assert_offer_allows
from gate.saved_rules import Saved

from rundry.agent.gate.rules import NO_RULES
from rundry.agent.protocol import ProposalDecided, ProposalOpened, Rule, RuleAdded


def commands(rules: list[Rule]) -> list[str]:
    return [rule.command or "" for rule in rules]


@pytest.mark.parametrize(
    ("command", "prefixes"),
    [
        ("git log --oneline -5", ["git log"]),
        ("git --no-pager log -3", ["git --no-pager log"]),
        ("git stash push -m x", ["git stash push"]),
        ("pytest -q tests/test_a.py", ["pytest"]),
        (".venv/bin/pytest -x tests", [".venv/bin/pytest"]),
        ("python -m pytest -q tests", ["python -m pytest"]),
        ("python3 -m unittest -v", ["python3 -m unittest"]),
        ("python manage.py migrate --fake", ["python manage.py migrate"]),
        ("npm test -- --watch=false", ["npm test"]),
        ("npm run build -- x", ["npm run build"]),
        ("cargo test name", ["cargo test"]),
        ("cargo nextest run -v", ["cargo nextest run"]),
        ("go mod tidy -v", ["go mod tidy"]),
        ("uv run pytest -q", ["uv run pytest"]),
        ("npx eslint src", ["npx eslint"]),
        ("make test -j4", ["make test"]),
        ("ruff check src", ["ruff check"]),
        ("terraform plan --target=x", ["terraform plan"]),
        ("aws s3 ls s3://b", ["aws s3 ls"]),
        ("./check.sh -v", ["./check.sh"]),
        ("timeout 30 pytest -q", ["pytest"]),
        ("sh -c 'pytest -q'", ["pytest"]),
        ("ls src/*.py", ["ls"]),
        ("grep -rn foo src | head -20", ["grep", "head"]),
        ("cd src && cat a.py; wc -l a.py", ["cat", "wc"]),
        ("pytest -q a && pytest -q b", ["pytest"]),
        ("rm -rf build && pytest -q", ["rm -rf build", "pytest"]),
    ],
)
def test_a_prefix_is_the_program_and_its_subcommand_one_for_each_part(place, command: str, prefixes: list[str]):
    (place.ws.root / "src").mkdir()
    verdict = place.judge_command(command)
    assert commands(verdict.offer.prefixes) == prefixes
    assert_offer_allows(place.judge_command, command, verdict)


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build",  # what it removes is its argument
        "git stash",  # without a word after it, it would cover `git stash drop`
        "make -j4",  # each target is a command
        "black --check .",  # an option of an unknown program can have a program as its value
        "/opt/tool/bin/x -c y",
        "runner python3 x.py y",  # the second word runs what the third names
        "docker exec web sh -x y",
        "python -m pip install requests",  # nothing is left that could vary
        "pytest",
    ],
)
def test_where_a_prefix_could_cover_another_program_or_subcommand_only_the_words_are_offered(place, command: str):
    verdict = place.judge_command(command)
    assert verdict.action == "ask"
    assert verdict.offer.prefixes == []
    assert commands(verdict.offer.rules) == [command]


@pytest.mark.parametrize(
    "command",
    [
        "sudo ls -l",
        "python -c 'print(1)'",
        "env A=1 pytest -q",
        "A=1 pytest -q",
        "bash build.sh all",
        "xargs grep foo",
        "find . -name x -exec rm {} ;",
        "git -c alias.x=!ls x",
        "git grep -O./x y",
        "sort -o out in",
        "cat a > b",
        "ls $X",
        "cargo run",
        "curl -s https://example.org",
        "a x; b x; c x; d x; e x; f x",
    ],
)
def test_what_asks_despite_each_rule_and_what_is_too_much_to_read_gets_none(place, command: str):
    verdict = place.judge_command(command)
    assert verdict.action == "ask"
    assert verdict.offer == NO_RULES


def test_a_part_that_a_rule_allows_gets_no_other_rule(place):
    offer = place.judge_command("pytest -q | tail -5", "tail").offer
    assert (commands(offer.rules), commands(offer.prefixes)) == (["pytest -q"], ["pytest"])


@pytest.mark.parametrize(
    ("prefix", "command"),
    [
        ("git log", "git log --output=x"),
        ("git log", "git log -5 | sh"),
        ("git log", "git stash drop"),
        ("git stash push", "git stash drop"),
        ("sort", "sort -o x y"),
        ("find", "find . -delete"),
        ("uv run pytest", "uv run python x.py"),
        ("uv run pytest", "uv run --with x pytest"),
        ("pytest", "pytest -p plugin"),
        ("python manage.py migrate", "python manage.py flush"),
        ("npm run build", "npm run deploy"),
        ("make test", "make deploy"),
        ("make test", "make test SHELL=x"),
        ("pytest", "pytest -q > ../x"),
        ("pytest", "A=1 pytest -q"),
        ("pytest", "sudo pytest"),
    ],
)
def test_a_prefix_covers_no_other_subcommand_and_no_option_that_runs_or_writes_something(place, prefix, command):
    assert place.judge_command(command, prefix).action == "ask"


async def test_a_prefix_for_the_session_adds_one_rule_for_each_part_and_later_lines_pass(place):
    saved = Saved()
    gate = place.gate(remembered=saved)
    task = await place.begin(gate, place.command("pytest -q tests/test_a.py | tail -5"))
    (opened,) = place.of(ProposalOpened)
    assert opened.rule is None
    assert opened.rules == ["allow run_command: pytest -q tests/test_a.py", "allow run_command: tail -5"]
    assert opened.prefixes == ["allow run_command: pytest", "allow run_command: tail"]
    assert gate.decide(place.decide("approve", session=True, prefix=True)) is None
    assert (await task).approved
    assert commands([event.rule for event in place.of(RuleAdded)]) == ["pytest", "tail"]
    passing = gate.propose(place.command("pytest -x tests/test_b.py | tail -20"), call_id="c", events=place)
    assert (await asyncio.wait_for(passing, 5)).by == "policy"
    assert saved.rules == []


async def test_always_saves_each_rule_and_the_journal_names_them(place):
    saved = Saved()
    gate = place.gate(remembered=saved)
    task = await place.begin(gate, place.command("make all && git log -5"))
    assert gate.decide(place.decide("approve", always=True, prefix=True)) is None
    await task
    assert commands(saved.rules) == ["make all", "git log"]
    decided = place.of(ProposalDecided)[-1]
    assert (decided.rule, decided.rules) == (None, ["allow run_command: make all", "allow run_command: git log"])


async def test_a_prefix_needs_one_and_is_never_for_a_client_or_for_once(place):
    gate = place.gate()
    task = await place.begin(gate, place.command("rm -rf build"))
    assert "has no prefix" in gate.decide(place.decide("approve", session=True, prefix=True))
    assert "say which" in gate.decide(place.decide("approve", prefix=True))
    assert "a person can do more" in gate.decide(place.decide("approve", prefix=True, by="mcp:claude"))
    assert place.of(RuleAdded) == []
    gate.decide(place.decide("reject"))
    await task
