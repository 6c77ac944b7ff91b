"""`rundry models --try` with a real model on llama.cpp's server (RUNDRY_MODELS)."""

from __future__ import annotations

import json

from fakes.models.real import real_server
from fakes.rundry import Home


def test_a_trial_of_a_real_model_measures_speeds_cache_and_formats_in_two_minutes(home: Home):
    with real_server() as base:
        ran = home.run("models", "--try", "tiny", "--api-base", base, "--json", cwd=home.root, timeout=240)
    assert ran.exit_code in (0, 1), ran
    found = json.loads(ran.stdout)
    assert found["window"] == 4096
    assert found["served"]["parameters"] == 134_515_008
    assert found["served"]["template_knows_tools"] is False
    assert found["read_speed"] > 1
    assert found["cached"] > 0.5
    assert found["seconds"] < 130
    scores = {each["format"]: each for each in found["formats"]}
    assert scores["functions"]["tried"] >= 1 or scores["functions"]["problem"].startswith("too slow"), found
    assert scores["tools"]["right"] == 0, "its template does not show the tools to the model"
