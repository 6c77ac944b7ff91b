"""Which effects of a command pass, ask and are refused; and when commands start in the mode `effects`."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from rundry.agent.gate.decision import rule_on_decision
from rundry.agent.gate.draft import CommandDraft, digest_of_draft
from rundry.agent.gate.effects_draft import EffectsDraft, EntryDraft
from rundry.agent.gate.effects_policy import judge_effect
from rundry.agent.gate.guarded_paths import GuardedPaths
from rundry.agent.gate.policy import PolicyContext, judge
from rundry.agent.gate.ruling import EntryRuling, Ruling
from rundry.agent.gate.session_policy import GatedTree, SessionPolicy
from rundry.agent.protocol import GIT_HELD, Decide, EffectEntry, GateMode, GatePolicy, Rule
from rundry.agent.protocol.effects import CommandEffects
from rundry.agent.protocol.text.effect_words import effect_lines, effects_title, size_words


def context(place, mode, *, rules=(), guard=(), layers=True, why="", sandbox="bubblewrap"):
    return PolicyContext(
        workspace=place.ws,
        mode=mode,
        rules=list(rules),
        guard=GuardedPaths(guard),
        sandbox=sandbox,
        layers=layers,
        why_no_layers=why,
    )


@pytest.mark.parametrize(
    ("kind", "asks_in"),
    [
        ("ordinary", {GateMode.EFFECTS}),
        ("git", {GateMode.EFFECTS}),
        ("protected", {GateMode.ASK, GateMode.EFFECTS, GateMode.EDITS, GateMode.AUTO, GateMode.STAGE}),
        ("install", {GateMode.ASK, GateMode.EFFECTS, GateMode.EDITS, GateMode.AUTO, GateMode.STAGE}),
        ("ignored_existed", {GateMode.ASK, GateMode.EFFECTS, GateMode.EDITS, GateMode.AUTO, GateMode.STAGE}),
        ("ignored_new", set()),
        ("built", set()),
    ],
)
def test_each_class_asks_in_its_modes_and_read_refuses_all(place, kind, asks_in):
    for mode in GateMode:
        action = judge_effect(kind, ["a"], context(place, mode)).action
        assert action == ("deny" if mode is GateMode.READ else "ask" if mode in asks_in else "allow"), (kind, mode)


def test_rules_and_the_guard_come_before_the_mode(place):
    deny, ask = Rule(verdict="deny", path="a"), Rule(verdict="ask", path="a")
    allow = Rule(verdict="allow", path="a", tool="write_file")
    for kind in ("ordinary", "ignored_new", "built", "protected"):
        assert judge_effect(kind, ["a"], context(place, GateMode.AUTO, rules=[deny])).action == "deny"
    assert judge_effect("ordinary", ["a"], context(place, GateMode.AUTO, rules=[ask])).action == "ask"
    assert judge_effect("ordinary", ["a"], context(place, GateMode.EFFECTS, rules=[allow])).action == "allow"
    assert judge_effect("protected", ["a"], context(place, GateMode.EFFECTS, rules=[allow])).action == "ask"
    guarded = judge_effect("ordinary", ["a"], context(place, GateMode.AUTO, guard=("a",)))
    assert guarded.action == "ask" and guarded.danger


def test_in_auto_what_the_line_of_the_setup_installs_passes_unless_a_rule_or_the_guard_speaks(place):
    paths, ask, deny = ["a", "b"], Rule(verdict="ask", path="b"), Rule(verdict="deny", path="b")
    for mode in GateMode:
        action = judge_effect("install", paths, context(place, mode), is_setup=True).action
        assert action == ("deny" if mode is GateMode.READ else "allow" if mode is GateMode.AUTO else "ask"), mode
    assert judge_effect("protected", paths, context(place, GateMode.AUTO), is_setup=True).action == "ask"
    assert judge_effect("install", paths, context(place, GateMode.AUTO, rules=[ask]), is_setup=True).action == "ask"
    assert judge_effect("install", paths, context(place, GateMode.AUTO, rules=[deny]), is_setup=True).action == "deny"
    guarded = context(place, GateMode.AUTO, guard=("b",))
    assert judge_effect("install", paths, guarded, is_setup=True).danger


def test_what_a_hook_changes_passes_in_effects_and_is_refused_in_read(place):
    tree = GatedTree(workspace=place.ws, guard=GuardedPaths(), sandbox="bubblewrap", layers=True)
    actions = {
        mode: SessionPolicy(GatePolicy(mode=mode)).judge_effect("ordinary", ["a"], tree, is_hook=True).action
        for mode in GateMode
    }
    assert actions == {mode: "deny" if mode is GateMode.READ else "allow" for mode in GateMode}


def test_in_effects_a_command_starts_only_in_a_layer_and_edits_wait(place):
    assert judge(place.command("make all"), context(place, GateMode.EFFECTS)).action == "allow"
    without = judge(place.command("make all"), context(place, GateMode.EFFECTS, layers=False, why="no overlay here"))
    assert without.action == "ask" and "no overlay here" in without.why[0]
    bare = judge(place.command("make all"), context(place, GateMode.EFFECTS, layers=False, sandbox=None))
    assert bare.action == "ask" and "there is no sandbox" in bare.why[0]
    assert place.judge_file("a.txt", mode=GateMode.EFFECTS).action == "ask"


def test_in_effects_a_rule_that_refuses_cannot_be_evaded(place):
    deny = [Rule(verdict="deny", tool="run_command", command="rm")]
    assert judge(place.command('x=rm; "$x" a'), context(place, GateMode.EFFECTS, rules=deny)).action == "ask"


def test_the_digest_of_a_command_covers_its_line_its_folder_its_sandbox_and_what_it_may_do_beyond():
    plain = CommandDraft(tool="run_command", command="make", timeout=5, cwd=Path("/a"))
    more = {"command": "make all"}, {"cwd": Path("/b")}, {"beyond": "refused"}
    further = {"network": True}, {"unsandboxed": True}, {"writable": (Path("/c"),)}
    drafts = [
        plain,
        *(replace(plain, **one) for one in more),
        *(replace(plain, beyond="refused", **one) for one in further),
    ]
    digests = {digest_of_draft(draft, "bubblewrap") for draft in drafts}
    assert len(digests | {digest_of_draft(plain, "landlock"), digest_of_draft(plain, None)}) == len(drafts) + 2


def test_the_digest_covers_the_command_the_entries_what_goes_along_and_the_rows():
    entry = EntryDraft(shown=EffectEntry(path="a"), kind="ordinary", paths=("a",))
    drafts = [
        EffectsDraft(command="make", entries=(entry,), along="x", rows=b"1"),
        EffectsDraft(command="make all", entries=(entry,), along="x", rows=b"1"),
        EffectsDraft(command="make", entries=(entry, entry), along="x", rows=b"1"),
        EffectsDraft(command="make", entries=(entry,), along="y", rows=b"1"),
        EffectsDraft(command="make", entries=(entry,), along="x", rows=b"2"),
    ]
    assert len({digest_of_draft(draft, "bubblewrap") for draft in drafts}) == len(drafts)


@pytest.mark.parametrize("conflict", ["", "it changed while the command ran"])
def test_a_repository_gains_nothing_if_a_file_is_in_conflict(conflict):
    entries = (
        EntryDraft(shown=EffectEntry(path="a.py", conflict=conflict), kind="ordinary", paths=("a.py",)),
        EntryDraft(shown=EffectEntry(path="b.py"), kind="ordinary", paths=("b.py",)),
        EntryDraft(shown=EffectEntry(path="", kind="git", lines=["main: 1 commit"]), kind="git"),
    )
    draft = EffectsDraft(command="make", entries=entries)
    ruling = rule_on_decision(Decide(proposal_id="p1", digest="d", verdict="approve"), draft, None, None)
    held = {2: EntryRuling(skipped=True, reason=GIT_HELD)} if conflict else {}
    assert isinstance(ruling, Ruling) and ruling.approved and ruling.entries == held


def test_the_words_name_each_kind_of_entry():
    effects = CommandEffects(
        command="make",
        entries=[
            EffectEntry(path="a.py", is_text=True, added=12, removed=4),
            EffectEntry(path="b", is_text=True, change="deleted", removed=3),
            EffectEntry(path="run", mode="executable"),
            EffectEntry(path="l", kind="link", change="added", target="../out", why=["it leads out"], danger=True),
            EffectEntry(path="big", change="added", size=8_100_000, no_undo=True),
            EffectEntry(path="node_modules", kind="install", count=412, size=2_000, lines=["412 new", ".bin/x: runs"]),
            EffectEntry(path="", kind="git", lines=["main: 2 commits", "  second"]),
            EffectEntry(path="a\nb\\xff", change="added", is_text=True),
        ],
        along="3 new ignored files",
        along_waits=True,
        never="p: a FIFO and 1 more",
    )
    assert effects_title(effects) == "6 files, 1 install, git"
    assert effect_lines(effects) == [
        "changed a.py +12 −4",
        "deleted b −3",
        "changed run (executable)",
        "new l (link to ../out)",
        "    asks: it leads out",
        "new big (not text, 8.1 MB, cannot be undone)",
        "install node_modules/ (412 files, 412 new, 2.0 kB)",
        "    .bin/x: runs",
        "git",
        "    main: 2 commits",
        "      second",
        'new "a\\012b\\377" (empty)',
        "with it: 3 new ignored files",
        "never applied: p: a FIFO and 1 more",
    ]


def test_sizes_are_written_in_short_units():
    assert [size_words(n) for n in (1, 999, 1_000, 99_600, 8_100_000)] == [
        "1 byte",
        "999 bytes",
        "1.0 kB",
        "100 kB",
        "8.1 MB",
    ]
