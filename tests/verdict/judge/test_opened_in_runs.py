"""The judge says which files the check opened, and asks a person about those first."""

from fakes.in_process.layered_run import decide

from rundry.agent.protocol import Budget, EntryChoice, evidence_words

from .reading import asked, is_done, judged

FEW = Budget(steps=6)
SUITE = "sh suite/a.sh"


async def test_the_end_says_how_many_files_the_check_opened_and_which_the_run_changed(project, driven):
    project(**{"calc.sh": "echo 5\n", "other.sh": "true\n", "suite__a.sh": "sh calc.sh | grep -q 4\n"})
    run = driven("echo 'echo 4' > calc.sh; echo false > other.sh", until=[SUITE], budget=FEW)
    outcome = await run.run()
    assert is_done(run, outcome)
    found = judged(run)
    assert (found["opened"], found["opened_changed"]) == (2, ["calc.sh"])
    assert "the check opened 2 files, 1 changed by this run (calc.sh)" in evidence_words(outcome.evidence)


def proposed(run):
    return [[entry["path"] for entry in event["effects"]["entries"]] for event in asked(run)]


GUTTED = {
    "calc.sh": "echo 5\n",
    "suite__a.sh": "sh calc.sh | grep -q 4\n",
    "notes.txt": "old\n",
}


async def test_a_person_is_asked_only_about_what_the_check_opened(project, driven):
    project(**GUTTED)
    run = driven("echo true > suite/a.sh; echo new > notes.txt", until=[SUITE], budget=FEW)
    run.on("proposal_opened", decide("approve"), nth=2)
    outcome = await run.run(watched=True)
    assert is_done(run, outcome)
    assert proposed(run) == [["suite/a.sh"]]
    assert outcome.evidence.undecided == ["notes.txt"]


STATED = {
    "calc.sh": "echo 5\n",
    "data.txt": "5\n",
    "suite__a.sh": "cat data.txt | grep -q 4 && ls | grep -q ^made\n",
}
CHANGE = "echo 4 > data.txt; touch made.txt"


async def test_what_the_check_needed_and_did_not_open_is_asked_about_afterwards_once(project, driven):
    project(**STATED)
    run = driven(CHANGE, until=[SUITE], budget=FEW)
    run.on("proposal_opened", decide("approve"), nth=2).on("proposal_opened", decide("approve"), nth=3)
    outcome = await run.run(watched=True)
    assert is_done(run, outcome)
    assert proposed(run) == [["data.txt"], ["made.txt"]]
    assert [event["asks_all"] for event in run.of("judged")] == [False, True, False]


async def test_without_a_person_the_hand_off_names_first_what_the_check_opened(project, driven):
    project(**STATED)
    run = driven(CHANGE, until=[SUITE], budget=FEW)
    outcome = await run.run()
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5), run.story()
    assert judged(run)["rests_on"] == ["data.txt"] and not judged(run)["asks_all"]
    assert "data.txt, made.txt" in outcome.detail and "--scope" not in outcome.detail
    assert "--scope /data.txt" in [one.option for one in outcome.evidence.look_first]


async def test_after_two_proposals_the_run_is_handed_over(project, driven):
    project(**STATED)
    run = driven(f"{CHANGE}; touch more.txt", until=[SUITE], budget=FEW)
    run.on("proposal_opened", decide("approve"), nth=2)
    run.on("proposal_opened", decide("part", entries={"made.txt": EntryChoice(skip=True)}), nth=3)
    outcome = await run.run(watched=True)
    assert outcome.reason == "handoff", run.story()
    assert proposed(run) == [["data.txt"], ["made.txt", "more.txt"]]
    assert judged(run)["rests_on"] == ["made.txt"]
