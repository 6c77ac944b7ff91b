"""A search that stopped on a budget continues where it was once the limit is raised (docs/requirements.md 5.1)."""

from __future__ import annotations

from fakes.models.model_by_role import NOTHING, ModelByRole, report

from rundry.agent.protocol import Budget, SetLimit, Stop


async def test_a_search_continues_where_it_was_once_a_limit_is_raised(search):
    model = ModelByRole({"taint": [report("first", "second"), NOTHING]})
    run = search(model, "taint", budget=Budget(steps=2))
    run.on("run_ended", SetLimit(name="steps", value=30)).on("run_ended", Stop(how="now"), nth=2)
    outcome = await run.run(watched=True, linger=True)
    assert [e["reason"] for e in run.of("run_ended")] == ["budget", "dry"], run.story()
    assert len(run.of("finding_reported")) == 2, "what was found is not looked for again"
    assert outcome.findings.confirmed == 2 and outcome.complete
