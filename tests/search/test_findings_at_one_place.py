"""Two findings are one only where key, place and title say so; a reworded one never keeps a search from running dry."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from fakes.in_process.driven import Driven
from fakes.models.model_by_role import NOTHING, ModelByRole, judge, report
from hypothesis import HealthCheck, given, settings, strategies as st
from sampling import examples

from rundry.agent.protocol import Budget, FinderSpec, Judge, Lens, LoopKind
from rundry.agent.search.lenses.known_findings import identity


def at(line: int, title: str, **more: str) -> dict[str, str]:
    return {"title": title, "evidence": f"same.txt:{line}", **more}


@pytest.fixture
def same(place: Path) -> Path:
    """Ten equal lines, and three that differ."""
    file = place / "same.txt"
    file.write_text("run(query)\n" * 10 + "one\nrun(query)\ntwo\n")
    return file


def judged(run: Driven) -> dict[str, str]:
    titles = {e["key"]: e["title"] for e in run.of("finding_reported")}
    return {titles[e["key"]]: e["verdict"] for e in run.of("finding_judged")}


async def test_findings_on_equal_lines_are_all_judged(search, same):
    found = [at(line, "input reaches SQL") for line in (2, 5, 9, 12)]
    run = search(ModelByRole({"one": [report(*found), NOTHING]}), "one")
    outcome = await run.run()
    assert (outcome.reason, outcome.findings.confirmed) == ("dry", 4), run.story()
    assert len({e["key"] for e in run.of("finding_reported")}) == 4


async def test_two_findings_on_one_line_are_both_judged_and_the_distinct_one_counts(search, same):
    """Seen before the fix: the second one disappeared without a verdict, and the run was complete."""
    model = ModelByRole({"one": [report(at(12, "input reaches SQL"), at(12, "the result is not closed")), NOTHING]})
    run = search(model, "one")
    outcome = await run.run()
    assert judged(run) == {"input reaches SQL": "confirmed", "the result is not closed": "confirmed"}, run.story()
    assert outcome.findings.confirmed == 2
    assert [e["may_repeat"] is None for e in run.of("finding_reported")] == [True, False]
    assert [e["new"] for e in run.of("pass_finished")] == [2, 0, 0]


async def test_the_verifier_of_a_possible_duplicate_reads_what_to_compare_it_with(search, same):
    model = ModelByRole({"one": [report(at(12, "a"), at(12, "b")), NOTHING]}, sceptic=lambda key, nth: judge("refuted"))
    await search(model, "one").run()
    asked = {r.messages[1].text for r in model.requests if "Try to refute" in r.messages[0].text}
    compared = [text for text in asked if "It was reported where finding" in text]
    assert len(asked) == 2
    assert len(compared) == 1
    assert "stands: a\n" in compared[0], "also where the first one is refuted"


async def test_a_reworded_finding_judged_as_a_duplicate_does_not_reset_the_streak(search, same):
    def sceptic(key, nth):
        return judge("duplicate", of=key.partition("~")[0]) if "~" in key else judge("stands")

    model = ModelByRole({"one": [report(at(12, "a")), report(at(12, "a, said otherwise")), NOTHING]}, sceptic=sceptic)
    run = search(model, "one")
    outcome = await run.run()
    assert [(e["new"], e["dry_streak"]) for e in run.of("pass_finished")] == [(1, 0), (0, 1), (0, 2)], run.story()
    assert (outcome.findings.confirmed, outcome.findings.refuted) == (1, 1)


async def test_a_distinct_finding_at_a_known_place_resets_the_streak(search, same):
    model = ModelByRole({"one": [report(at(12, "a")), NOTHING, report(at(12, "b")), NOTHING]})
    run = search(model, "one", dry_passes=2)
    outcome = await run.run()
    assert [e["dry_streak"] for e in run.of("pass_finished")] == [0, 1, 0, 1, 2], run.story()
    assert outcome.findings.confirmed == 2


async def test_one_key_that_a_model_gives_to_two_places_does_not_hide_the_second(search, same):
    found = [at(2, "input reaches SQL", key="sql"), at(12, "input reaches SQL", key="sql")]
    run = search(ModelByRole({"one": [report(*found), NOTHING]}), "one")
    outcome = await run.run()
    assert outcome.findings.confirmed == 2, run.story()


async def test_without_verifiers_a_possible_duplicate_is_kept_and_does_not_count_as_new(search, same):
    count = iter(range(10_000))
    model = ModelByRole({"one": [lambda _: report(at(12, f"wording {next(count)}"))]})
    run = search(model, "one", sceptics=0)
    outcome = await run.run()
    assert (outcome.reason, outcome.passes) == ("dry", 3), run.story()
    assert len(run.of("finding_reported")) == 3
    assert len(run.facts().finder.found) == 1


async def test_a_person_can_decide_that_a_possible_duplicate_is_distinct_and_the_search_continues(search, same):
    model = ModelByRole({"one": [report(at(12, "a"), at(12, "b")), NOTHING]})
    run = search(model, "one", sceptics=0)
    run.on("pass_finished", lambda _: Judge(key=second(run), verdict="confirmed"), nth=2)
    outcome = await run.run(watched=True)
    assert outcome.reason == "dry", run.story()
    assert outcome.passes > 3, "a distinct one begins the streak anew"
    assert len(run.facts().finder.found) == 2


def second(run: Driven) -> str:
    return run.of("finding_reported")[1]["key"]


async def test_a_search_of_an_earlier_version_knows_its_findings_by_the_keys_that_it_gave_them(search, same):
    """Keys were the path and a hash of the line alone, and reports had no place."""
    run = search(ModelByRole({"one": [report(at(12, "a")), NOTHING]}), "one")
    await run.run()
    old = identity("a", "same.txt:12", None, same.parent).old_place
    new = run.of("finding_reported")[0]["key"]
    renamed = run.rewritten(
        lambda line: line.replace(new, old).replace(f'"place":"{old}"', '"place":""'), upto="pass_finished"
    )
    renamed.model = ModelByRole({"one": [report(at(12, "A")), report(at(12, "b")), NOTHING]})
    outcome = await renamed.run()
    assert outcome.reason == "dry", renamed.story()
    assert [e["key"] for e in renamed.of("item_duplicate")] == [old]
    assert [e["may_repeat"] for e in renamed.of("finding_reported")] == [old]


WORDS = st.text("abc xyz", min_size=1, max_size=6)


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    titles=st.lists(WORDS, min_size=1, max_size=12),
    keys=st.lists(st.sampled_from(["", "k", "given"]), min_size=1, max_size=4),
    spans=st.lists(st.sampled_from([":2", ":2-3", ":2:7"]), min_size=1, max_size=3),
    verdicts=st.lists(st.sampled_from(["duplicate", "refuted"]), min_size=1, max_size=4),
    sceptics=st.integers(0, 3),
    lenses=st.integers(1, 3),
    critic=st.booleans(),
)
async def test_a_lens_that_rewords_one_finding_forever_still_ends_dry(
    titles, keys, spans, verdicts, sceptics, lenses, critic
):
    count = iter(range(10**9))

    def reworded(_: str):
        n = next(count)
        given_key = keys[n % len(keys)]
        key = {"key": given_key if given_key == "k" else f"{given_key}{n}"} if given_key else {}
        return report({"title": f"{titles[n % len(titles)]} {n}", "evidence": f"a.txt{spans[n % len(spans)]}", **key})

    def sceptic(key, nth):
        first = next((f.key for f in run.facts().finder.findings.values()), "")
        return judge("stands") if key == first else judge(verdicts[nth % len(verdicts)], of=first)

    names = [f"l{n}" for n in range(lenses)]
    model = ModelByRole({name: [reworded] for name in names}, sceptic=sceptic)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "place").mkdir()
        (Path(folder) / "place" / "a.txt").write_text("one\ntwo\nthree\n")
        (runs := Path(folder) / "runs").mkdir(mode=0o700)
        spec = FinderSpec(
            lenses=[Lens(name=name, prompt="look") for name in names], sceptics=sceptics, critic=critic, dry_passes=2
        )
        run = Driven(
            runs,
            Path(folder) / "place",
            model,
            task="find it",
            loop=LoopKind.UNTIL_DRY,
            finder=spec,
            budget=Budget(steps=400, tokens=None),
        )
        outcome = await run.run()
    assert outcome.reason == "dry", run.story()
    assert outcome.passes == 3, run.story()
