"""A search is resumed from a checkpoint as it would be from its first event."""

from fakes.models.model_by_role import NOTHING, ModelByRole, judge, report

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import ModelFault
from rundry.agent.state.facts.checkpoint import facts_of, save
from rundry.agent.state.facts.run_facts import RunFacts, fold

OUT = ModelFault("bad-request", "no", retryable=True)


async def searched(search):
    lenses = {"one": [report("x", "y", items=[("file", "a.txt")]), OUT, NOTHING], "two": [OUT, NOTHING]}
    run = search(
        ModelByRole(lenses, sceptic=lambda key, nth: judge("refuted" if key == "title:y" else "stands")), "one", "two"
    )
    await run.run()
    return Journal.open(run.path)


async def test_from_every_checkpoint_the_facts_are_those_of_all_events(search):
    journal = await searched(search)
    events = journal.read()
    whole = fold(journal.spec, events)
    for end in range(1, len(events), 7):
        facts = RunFacts(journal.spec)
        for stamped in events[:end]:
            facts.apply(stamped)
        save(journal, facts)
        assert facts_of(journal) == whole
    journal.close()


async def test_a_checkpoint_that_cannot_be_read_or_is_ahead_of_the_events_is_as_good_as_none(search):
    journal = await searched(search)
    whole = fold(journal.spec, journal.read())
    save(journal, whole)
    journal.write("UPDATE checkpoint SET body = ?", [(b"\x93broken",)])
    assert facts_of(journal) == whole
    whole.last_seq += 5
    save(journal, whole)
    whole.last_seq -= 5
    assert facts_of(journal) == whole
    journal.write("UPDATE checkpoint SET made_by = 'another'")
    assert facts_of(journal) == whole
    journal.close()
