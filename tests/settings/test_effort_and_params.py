"""`[model] effort` and `params`: where they may come from, and which names are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from rundry.agent.protocol import ConfigError, UserError
from rundry.agent.settings.request_params import RESERVED, read_params
from rundry.agent.settings.search.search_file import read_finder
from rundry.agent.settings.settings import load_settings


def env_of(tmp_path: Path, config: str = "") -> dict[str, str]:
    folder = tmp_path / "config" / "rundry"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(config)
    return {"XDG_CONFIG_HOME": str(tmp_path / "config"), "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}


def test_effort_comes_from_a_flag_a_variable_or_a_file(tmp_path: Path):
    env = env_of(tmp_path, '[model]\nname = "openai/x"\neffort = "low"\nparams = { temperature = 0.2 }\n')
    by_file = load_settings({}, cwd=tmp_path, env=env, trust=False).model()
    assert by_file is not None
    assert (by_file.effort, by_file.params) == ("low", {"temperature": 0.2})
    by_env = load_settings({}, cwd=tmp_path, env={**env, "RUNDRY_EFFORT": "medium"}, trust=False)
    assert by_env["effort"].origin == "environment RUNDRY_EFFORT"
    by_flag = load_settings({"effort": "high"}, cwd=tmp_path, env={**env, "RUNDRY_EFFORT": "medium"}, trust=False)
    assert (by_flag["effort"].value, by_flag["effort"].origin) == ("high", "flag")
    assert load_settings({}, cwd=tmp_path, env={**env, "RUNDRY_PARAMS": "{}"}, trust=False)["params"].value


def test_an_effort_that_does_not_exist_is_refused(tmp_path: Path):
    with pytest.raises(
        UserError, match="--effort: 'huge' is not possible: write none, minimal, low, medium, high or xhigh"
    ):
        load_settings({"effort": "huge"}, cwd=tmp_path, env=env_of(tmp_path), trust=False)


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_a_reserved_name_is_refused(name: str):
    with pytest.raises(UserError, match=name):
        read_params({name: 1}, 0.0)


@pytest.mark.parametrize(
    "params",
    [{"Max_Tokens": 9}, {"maxTokens": 9}, {"options": {"num_predict": 9}}, {"generationConfig": {"maxOutputTokens": 9}},
     {"max-tokens": 9}, {"x": "y" * 20_000}, "temperature"],
)  # fmt: skip
def test_another_spelling_a_nested_limit_or_too_much_is_refused(params: object):
    with pytest.raises(UserError):
        read_params(params, 0.0)


def test_what_a_provider_documents_is_let_through():
    params = {"temperature": 0, "top_p": 0.9, "seed": 7, "provider": {"order": ["x"]}, "options": {"mirostat": 1}}
    assert read_params(params, 0.0) == params


def test_a_project_may_set_sampling_but_neither_account_nor_place(tmp_path: Path):
    env = env_of(tmp_path)
    project = tmp_path / "work"
    project.mkdir()
    (project / ".rundry.toml").write_text('[model]\nname = "openai/x"\nparams = { seed = 1 }\n')
    model = load_settings({}, cwd=project, env=env, trust=True).model()
    assert model is not None and model.params == {"seed": 1}
    for name in ("aws_bedrock_runtime_endpoint", "vertex_project", "api_version", "base_url"):
        (project / ".rundry.toml").write_text(f'[model]\nname = "openai/x"\nparams = {{ {name} = "evil" }}\n')
        with pytest.raises(ConfigError, match=name):
            load_settings({}, cwd=project, env=env, trust=True)


def test_a_search_names_both_in_its_spec_file(tmp_path: Path):
    spec = tmp_path / "search.toml"
    text = 'task = "t"\n[[lens]]\nname = "a"\nprompt = "b"\n[model]\nname = "openai/x"\n'
    spec.write_text(text + 'effort = "high"\nparams = { seed = 1 }\n')
    options = read_finder(spec).options
    assert (options["effort"], options["params"]) == ("high", {"seed": 1})
    for wrong, named in (('effort = "huge"\n', "effort"), ("params = { max_tokens = 5 }\n", "max_tokens")):
        spec.write_text(text + wrong)
        with pytest.raises(UserError, match=named):
            read_finder(spec)
