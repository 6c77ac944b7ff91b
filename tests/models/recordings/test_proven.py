"""docs/models.md has a row for each provider, and with the recordings at hand it says what they show."""

from __future__ import annotations

import pytest
from fakes.providers.proven import PAGE, counts, goes_back, page
from fakes.providers.recorded import recordings

from rundry.agent.models.provider_traits import TRAITS


def test_each_direct_provider_has_a_row_and_no_other_claims_to_be_one():
    text = PAGE.read_text(encoding="utf-8")
    direct = text.partition("## Spoken to directly")[2].partition("## Through litellm")[0]
    rows = [line.split("|")[1].strip() for line in direct.splitlines() if line.startswith("| ")][2:]
    assert rows == [*TRAITS, "other OpenAI-compatible servers"]


@pytest.mark.skipif(not recordings(), reason="RUNDRY_RECORDINGS names no recordings")
def test_the_page_says_what_the_recordings_show():
    found = counts(recordings())
    goes_back(found)
    assert PAGE.read_text(encoding="utf-8") == page(found)
