"""The next tier of a hand-off, as a config file names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rundry.agent.protocol import ConfigError, HandoffTier, ModelSpec, RunSpec
from rundry.agent.settings.settings import load_settings
from rundry.agent.settings.spec_of_settings import to_spec

MODEL = ModelSpec(name="openai/small", api_base="http://127.0.0.1:9/v1", key_from="MY_KEY")


@pytest.fixture
def spec_of(tmp_path: Path):
    def make(user: str = "", *, project: str = "", trust: bool = True, **flags: object) -> RunSpec:
        config = tmp_path / "config" / "rundry"
        config.mkdir(parents=True, exist_ok=True)
        (config / "config.toml").write_text(user)
        work = tmp_path / "work"
        work.mkdir(exist_ok=True)
        if project:
            (work / ".rundry.toml").write_text(project)
        env = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_DATA_HOME": str(tmp_path)}
        settings = load_settings(flags, cwd=work, env=env, trust=trust)
        return to_spec(settings, task="x", run_id="r", workspace=work, model=MODEL, headless=False)

    return make


TIERS = """
[[handoff.tier]]
kind = "person"
[[handoff.tier]]
kind = "model"
name = "anthropic/claude-x"
after = "20m"
[[handoff.tier]]
kind = "command"
run = "mail -s rundry me"
after = 30
"""


def test_tiers_stand_in_the_order_of_the_file_with_their_times(spec_of):
    assert spec_of(TIERS).tiers == [
        HandoffTier(kind="person", after=600.0),
        HandoffTier(kind="model", model=ModelSpec(name="anthropic/claude-x"), after=1200.0),
        HandoffTier(kind="command", run="mail -s rundry me", after=30.0),
    ]


def test_a_folder_that_is_not_trusted_has_no_tiers_and_calls_nobody(spec_of):
    spec = spec_of(project=TIERS.replace("[[", "notify = 'x'\n[[", 1), trust=False)
    assert (spec.tiers, spec.notify) == ([], None)


@pytest.mark.parametrize("name", ["big", "openai/big"])
def test_a_stronger_model_of_the_same_provider_is_on_the_same_server(spec_of, name: str):
    wanted = ModelSpec(name=name, api_base=MODEL.api_base, key_from="MY_KEY")
    assert spec_of(escalate=name).escalate == wanted
    assert spec_of(f"escalate = '{name}'").escalate == wanted


def test_one_of_another_provider_is_where_that_provider_is(spec_of):
    assert spec_of(escalate="anthropic/big").escalate == ModelSpec(name="anthropic/big")


def test_a_server_that_the_project_named_gets_no_key(spec_of):
    table = "escalate = {name = 'openai/big', api_base = 'http://203.0.113.9/v1', price = '3/15'}"
    found = spec_of(project=table).escalate
    assert found == ModelSpec(name="openai/big", api_base="http://203.0.113.9/v1", key_from="", price=(3.0, 15.0))
    (folder := Path(spec_of().workspace) / ".rundry.toml").unlink()
    del folder
    mine = spec_of(table).escalate
    assert mine is not None and mine.key_from is None


def test_notify_is_a_command_or_none(spec_of):
    assert spec_of("notify = 'notify-send rundry'").notify == "notify-send rundry"
    assert spec_of("notify = 'none'").notify is None


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[[handoff.tier]]\nkind = 'dog'", "kind of tier"),
        ("[[handoff.tier]]\nkind = 'model'", "a model needs a name"),
        ("[[handoff.tier]]\nkind = 'command'", "needs a command"),
        ("[[handoff.tier]]\nkind = 'person'\nrun = 'x'", "unknown field 'run'"),
        ("[[handoff.tier]]\nkind = 'person'\nafter = 'soon'", "not a duration"),
        ("[[handoff.tier]]\nkind = 'person'\nafter = -5", "out of range"),
        ("escalate = 5", "not a model"),
        ("escalate = ''", "not a name"),
    ],
)
def test_what_makes_no_sense_is_named_with_the_fix(spec_of, text: str, word: str):
    with pytest.raises(ConfigError, match=word):
        spec_of(text)
