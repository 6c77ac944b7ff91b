"""Values of settings as a person reads them."""

from __future__ import annotations

from rundry.agent import Rule
from rundry.tui.start.shown_settings import shown_value


def test_rules_are_shown_as_the_gate_names_them():
    rules = [Rule(verdict="allow", tool="fetch_url", host="pypi.org"), Rule(verdict="deny", path=".env")]
    assert shown_value("rules", rules) == "allow fetch_url: pypi.org; deny .env"
