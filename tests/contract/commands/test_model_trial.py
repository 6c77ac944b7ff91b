"""`rundry models --try NAME`: the real command against scripted servers on loopback."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from fakes.rundry import Home
from fakes.server import Rule, ScriptedServer
from fakes.turns import HttpError, Turn, call, say

FIXES = {
    "clock.py": ("    return hours * 3600 + minutes * 6\n", "    return hours * 3600 + minutes * 60\n"),
    "range.py": (
        "def lowest(values):\n    if not values:\n        return None\n    return max(values)\n",
        "def lowest(values):\n    if not values:\n        return None\n    return min(values)\n",
    ),
    "basket.py": ("        return 0\n", "        return len(self.prices)\n"),
}
"""What each task asks to replace."""
DEFINITIONS = {
    "clock.py": "def seconds(hours, minutes):\n    return hours * 3600 + minutes * 60\n",
    "range.py": FIXES["range.py"][1],
    "basket.py": "class Basket:\n    def count(self):\n        return len(self.prices)\n",
}
WHOLE = {
    "clock.py": f"{DEFINITIONS['clock.py']}\n\ndef is_noon(hours, minutes):\n    return hours == 12 and minutes == 0\n",
    "range.py": "def highest(values):\n    if not values:\n        return None\n    return max(values)\n\n\n"
    + FIXES["range.py"][1],
    "basket.py": "class Basket:\n    def __init__(self):\n        self.prices = []\n\n    def add(self, price):\n"
    "        self.prices.append(price)\n\n    def total(self):\n        return sum(self.prices)\n\n"
    "    def count(self):\n        return len(self.prices)\n",
}
MARKS = {
    "tools": '"tools": ',
    "functions": "complete new text of each function",
    "whole": "whole corrected file",
    "blocks": "<<<<<<< SEARCH",
    "constrained": '"response_format": ',
}
"""Words of a request by which its format is known."""


def fence(code: str) -> str:
    return f"Here is the change.\n\n```python\n{code}```\n"


def right(form: str, path: str) -> Turn:
    """The right answer in a format."""
    old, new = FIXES[path]
    match form:
        case "tools":
            return call("edit_file", path=path, edits=[{"old_text": old, "new_text": new}])
        case "functions":
            return say(fence(DEFINITIONS[path]))
        case "whole":
            return say(fence(WHOLE[path]))
        case "blocks":
            return say(f"<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n")
        case _:
            return say(json.dumps({"cause": "a typo", "old_text": old, "new_text": new}))


def answers(forms: Sequence[str]) -> list[Rule]:
    """A model that masters these formats, and talks in the others."""
    rules = [Rule(f"(?s)(?=.*{re.escape(path)})(?=.*{re.escape(MARKS[form])})", right(form, path))
             for form in forms for path in FIXES]  # fmt: skip
    return [*rules, Rule("Reply with the one word", say("ready", cached=40))]


def server(*forms: str, **more: object) -> ScriptedServer:
    return ScriptedServer(rules=answers(forms), then=say("I would change the code a little."), **more)


def tried(home: Home, base: str, *more: str, env: dict[str, str] | None = None):
    return home.run("models", "--try", "fake", "--api-base", base, *more, cwd=home.root, env=env)


@pytest.mark.parametrize(
    ("forms", "recommended"),
    [
        (["tools", "functions", "whole", "blocks", "constrained"], "tools"),
        (["functions", "whole", "blocks", "constrained"], "functions"),
        (["whole", "blocks"], "whole"),
        (["blocks", "constrained"], "blocks"),
        (["constrained"], "constrained"),
        (["tools"], "tools"),
    ],
)
def test_the_format_that_the_model_can_write_is_recommended_and_remembered(home: Home, forms, recommended: str):
    with server(*forms) as scripted:
        ran = tried(home, scripted.base_url, "--json")
        assert ran.exit_code == 0, ran
        found = json.loads(ran.stdout)
        assert found["recommended"] == recommended
        scores = {each["format"]: (each["right"], each["tried"]) for each in found["formats"]}
        assert scores == {form: (3, 3) if form in forms else (0, 2) for form in MARKS}
        assert found["read_speed"] > 0
        assert 0 < found["cached"] <= 1
        assert max(len(one.body["messages"]) for one in scripted.requests) == 3
    assert f'"edit_format":"{recommended}"' in remembered(home)


def remembered(home: Home) -> str:
    files = list(home.root.rglob("learned.json"))
    return "".join(file.read_text() for file in files)


def test_each_call_is_bounded_and_no_answer_is_executed_or_written(home: Home, project: Path):
    before = {path: path.read_bytes() for path in project.rglob("*.py")}
    with server("whole") as scripted:
        ran = home.run("models", "--try", "fake", "--api-base", scripted.base_url, cwd=project)
        assert ran.exit_code == 0, ran
        assert len(scripted.requests) <= 2 + 5 * 3
        assert all(0 < one.body["max_tokens"] <= 600 for one in scripted.requests)
    assert {path: path.read_bytes() for path in project.rglob("*.py")} == before
    assert not (project / "clock.py").exists()


def test_the_table_fits_sixty_columns_and_ends_with_one_recommendation(home: Home):
    with server("functions", "whole") as scripted:
        ran = tried(home, scripted.base_url, env={"COLUMNS": "60"})
    lines = ran.stdout.splitlines()
    assert all(len(line) <= 60 for line in lines), ran
    assert [line for line in lines if line.startswith("functions")] == ["functions      3 of 3"]
    assert next(line for line in lines if line.startswith("tools")) == "tools          0 of 2  it called no tool"
    assert lines[-2:] == [
        "Recommended: --edit-format functions",
        "The next run with this model on this server uses it.",
    ]


def test_a_model_that_can_write_no_format_is_not_recommended_one(home: Home):
    with server() as scripted:
        ran = tried(home, scripted.base_url)
    assert ran.exit_code == 1, ran
    assert ran.stdout.splitlines()[-1] == "No edit format led to a right answer: try a larger model."
    assert "edit_format" not in remembered(home)


def test_a_server_that_refuses_tools_and_schemas_is_tried_in_the_other_formats(home: Home):
    refusal = HttpError(400, "tools and response_format are not supported by this server")
    rules = [Rule('"(tools|response_format)": ', Turn(error=refusal)), *answers(["whole"])]
    with ScriptedServer(rules=rules, then=say("No.")) as scripted:
        ran = tried(home, scripted.base_url, "--json")
    assert ran.exit_code == 0, ran
    found = {each["format"]: each for each in json.loads(ran.stdout)["formats"]}
    assert found["whole"]["right"] == 3
    assert "not supported" in found["tools"]["problem"]


def test_a_model_that_is_not_free_needs_yes_and_its_worst_cost_is_printed(home: Home):
    home.config_file.parent.mkdir(parents=True)
    home.config_file.write_text('[model]\nprice = "2/8"\n')
    with server("whole") as scripted:
        asked = tried(home, scripted.base_url)
        assert asked.exit_code == 2, asked
        assert scripted.requests == []
        (line,) = asked.stderr.splitlines()
        worst = float(re.search(r"can cost up to ([\d.]+) USD: add --yes", line)[1])  # type: ignore[index]
        agreed = tried(home, scripted.base_url, "--yes", "--json")
        assert agreed.exit_code == 0, agreed
        assert 0 < json.loads(agreed.stdout)["usd"] < worst < 1


def test_a_server_that_cannot_be_reached_is_one_line(home: Home):
    ran = tried(home, "http://127.0.0.1:9/v1")
    assert ran.exit_code == 2, ran
    (line,) = ran.stderr.splitlines()
    assert "no model server at http://127.0.0.1:9/v1" in line


def test_a_refused_key_ends_the_trial_in_one_line(home: Home):
    turn = Turn(error=HttpError(401, "bad key", kind="authentication_error"))
    with ScriptedServer(then=turn) as scripted:
        ran = tried(home, scripted.base_url)
    assert ran.exit_code == 2, ran
    assert len(ran.stderr.splitlines()) == 1, ran
    assert len(scripted.requests) == 1


def test_the_scripted_model_has_nothing_to_try(home: Home):
    ran = home.run("models", "--try", "demo/fix", cwd=home.root)
    assert ran.exit_code == 2, ran
    assert "nothing to try" in ran.stderr


def test_yes_without_a_trial_is_refused(home: Home):
    assert home.run("models", "--yes", cwd=home.root).exit_code == 2


@pytest.mark.parametrize("more", [[], ["--edit-format", "blocks"]])
def test_the_next_run_uses_the_recommended_format_unless_an_option_names_one(
    home: Home, project: Path, more: list[str]
):
    with server("whole") as scripted:
        assert tried(home, scripted.base_url).exit_code == 0
        line = ["run", "mend it", "--until", "false", "--headless", "--gate", "auto", "--json", "--steps", "1", *more]
        ran = home.run(*line, "--model", "fake", "--api-base", scripted.base_url, cwd=project)
        asked = scripted.requests[-1].text
    chosen = [(each["format"], each["why"]) for each in ran.of("edit_format_chosen")]
    assert chosen == ([] if more else [("whole", "it is remembered for fake on this server")])
    assert MARKS[more[1] if more else "whole"] in asked, ran.story()
