"""What the view of a judge has at a path, as tables of changes."""

import pytest
from hypothesis import given, strategies as st

from rundry.agent.verdict.judge.decided import digest_of_paths

from .changing import EVERYTHING, NOTHING, Changing, lines, scope_of, undecided

TEST, CODE = "tests/test_a.py", "a.py"


def project() -> Changing:
    return Changing(a__py="", **{"a.py": lines(9), "tests__test_a.py": lines(20)})


def test_a_change_in_the_scope_stays_and_any_other_is_taken_out():
    it = project().run(CODE, "new code\n").run(TEST, "pass\n").run("conftest.py", "skip\n").run("pytest.ini", "[x]\n")
    view = it.view(scope_of(CODE))
    assert (view[CODE], view[TEST]) == ("new code\n", lines(20))
    assert "conftest.py" not in view and "pytest.ini" not in view
    found = it.decided(scope_of(CODE))
    assert undecided(found) == {TEST: "changed", "conftest.py": "new", "pytest.ini": "new"}
    assert found.changed == sorted([CODE, TEST, "conftest.py", "pytest.ini"]) and not found.unknown
    assert set(found.accepted) == {CODE}


def test_what_a_person_approved_as_a_diff_stays():
    it = project().run(TEST, lines(20, l3="three"), seen=True)
    assert it.view() == {**it.view(EVERYTHING)} and not it.decided().undecided


def test_a_small_approved_diff_does_not_approve_what_the_run_did_to_the_file_before():
    gutted = lines(20, **{f"l{number}": "pass" for number in range(10, 21)})
    small = gutted.replace("line 3\n", "line three\n")
    it = project().run(TEST, gutted).run(TEST, small, seen=True)
    assert it.view()[TEST] == lines(20, l3="line three")
    assert undecided(it.decided()) == {TEST: "changed"}


def test_an_approved_diff_that_overlaps_with_an_undecided_change_is_left_out():
    it = project().run(TEST, lines(20, l3="pass")).run(TEST, lines(20, l3="pass  # fast"), seen=True)
    assert it.view()[TEST] == lines(20)
    assert undecided(it.decided()) == {TEST: "changed"}


def test_what_is_not_text_cannot_be_merged():
    it = Changing(data="\0one").run("data", "\0two").run("data", "\0two and more", seen=True)
    assert it.view()["data"] == "\0one" and undecided(it.decided()) == {"data": "changed"}


@pytest.mark.parametrize("before", [0, 1, 2], ids=["before the run", "between its changes", "after them"])
def test_changes_of_the_user_stay_whenever_they_were_made(before):
    it, mine = project(), {"l18": "mine"}
    texts = [lines(20, l2="pass"), lines(20, l2="pass", l4="pass")]
    for number in range(3):
        own = mine if number >= before else {}
        if number == before:
            it.user(TEST, (it.text(TEST) or "").replace("line 18", "mine"))
        if number < 2:
            it.run(TEST, texts[number].replace("line 18", own.get("l18", "line 18")))
    assert it.view()[TEST] == lines(20, **mine)
    assert undecided(it.decided()) == {TEST: "changed"}


def test_a_file_that_only_the_user_changed_between_is_as_they_left_it():
    it = project().run(CODE, "one\n").user(CODE, "two\n").run(CODE, "three\n")
    assert it.view(scope_of(CODE))[CODE] == "three\n"


def test_a_user_who_restores_a_file_decided_on_it():
    it = project().run(TEST, "pass\n").user(TEST, lines(20))
    assert not it.decided().undecided and it.view()[TEST] == lines(20)
    assert it.decided().changed == []


def test_an_editor_that_formats_on_save_does_not_accept_a_gutted_test():
    it = Changing(t="a = 1\nassert f( ) == a\n").run("t", "a = 1\n").user("t", "a  =  1\n")
    assert undecided(it.decided()) == {"t": "changed"}


def test_an_undone_change_is_not_among_the_changes():
    it = project().run(TEST, "pass\n").undo(TEST)
    found = it.decided()
    assert not found.undecided and not found.changed and not found.view
    it.run(TEST, lines(20, l1="x")).run(TEST, "pass\n", seen=True).undo(TEST)
    assert it.view()[TEST] == lines(20)


def test_a_renamed_test_is_a_deletion_and_an_addition():
    it = project().move(TEST, "tests/old_a.py")
    assert undecided(it.decided()) == {TEST: "deleted", "tests/old_a.py": "new"}
    assert it.view()[TEST] == lines(20) and "tests/old_a.py" not in it.view()


def test_a_source_that_is_renamed_in_the_scope_stays_renamed():
    it = project().move(CODE, "b.py")
    assert not it.decided(scope_of(CODE, "b.py")).undecided


def test_a_file_that_the_run_deleted_is_there_again():
    it = project().run(TEST, None)
    assert it.view()[TEST] == lines(20) and undecided(it.decided()) == {TEST: "deleted"}


def test_a_file_that_came_and_went_is_nothing():
    it = project().run("new.py", "x\n").run("new.py", None)
    assert not it.decided().undecided and it.decided().changed == []


def test_a_link_is_never_in_the_scope():
    it = project().run(CODE, "-> /elsewhere.py").run("b.py", "-> a.py")
    found = it.decided(EVERYTHING)
    assert undecided(found) == {CODE: "changed", "b.py": "new"}
    assert it.view(EVERYTHING)[CODE] == lines(9)


def test_a_link_of_the_start_that_the_run_replaced_is_a_link_again():
    it = Changing(lib="-> real").run("lib", "text\n")
    assert it.view(EVERYTHING)["lib"] == "-> real"


def test_the_execute_bit_is_merged_like_the_text():
    it = Changing(tool="one\n").run("tool", "one\n", runs=True).run("tool", "one\ntwo\n", runs=True, seen=True)
    assert it.view()["tool"] == "one\ntwo\n"  # the person's diff has the text, not the bit
    it = Changing(tool="one\n").run("tool", "pass\n").user("tool", "pass\n", runs=True)
    assert it.view()["tool"] == "one\n*"
    assert undecided(it.decided()) == {"tool": "changed"}


@pytest.mark.parametrize(("folder", "expected"), [("tests", "run"), (".", "run"), ("other", "user"), ("test", "user")])
def test_what_changed_while_a_process_of_the_run_could_write_is_not_the_users(folder, expected):
    it = project().run(TEST, lines(20, l1="x"), seen=True)
    it.writes(folder).user(TEST, lines(20, l1="x", l9="y"))
    assert it.view()[TEST] == lines(20, l1="x", **({"l9": "y"} if expected == "user" else {}))


def test_a_process_that_ended_before_cannot_have_written():
    it = project().writes("tests", ends=True).run(TEST, lines(20, l1="x"), seen=True).user(TEST, lines(20, l9="y"))
    assert it.view()[TEST] == lines(20, l9="y")


@pytest.mark.parametrize(("paths", "expected"), [([TEST], "run"), ([CODE], "user"), ([], "user")])
def test_only_what_a_unit_wrote_is_not_the_users_if_that_is_known(paths, expected):
    it = project().run(TEST, lines(20, l1="x"), seen=True)
    it.writes(".", paths=paths).user(TEST, lines(20, l1="x", l9="y"))
    assert it.view()[TEST] == lines(20, l1="x", **({"l9": "y"} if expected == "user" else {}))


def test_a_process_that_could_write_without_a_record_is_named():
    assert project().writes(".", "the server x can write").decided().unknown == [".: the server x can write"]


def test_in_the_scope_a_change_without_a_record_counts_as_one_of_the_run():
    it = project().run(CODE, "one\n").writes(".").user(CODE, "two\n")
    assert it.view(scope_of(CODE))[CODE] == "two\n" and not it.decided(scope_of(CODE)).undecided


def test_content_that_a_person_accepted_counts_and_a_later_change_does_not():
    it = project().run(TEST, "pass\n").accept(TEST)
    found = it.decided()
    assert not found.undecided and found.unseen == []
    it.run(TEST, "pass\npass\n")
    assert it.view()[TEST] == "pass\n" and undecided(it.decided()) == {TEST: "changed"}


def test_a_name_that_was_accepted_without_a_text_is_reported():
    it = project().run("image.png", "\0").accept("image.png", seen=False)
    assert it.decided().unseen == ["image.png"] and not it.decided().undecided


def test_an_accepted_deletion_counts():
    it = project().run(TEST, None).accept(TEST)
    assert not it.decided().undecided and TEST not in it.view()


def test_a_past_that_nothing_has_is_unknown():
    it = Changing(big="x" * 100)
    it.lost = set(it.texts)
    it.run("big", "small")
    assert it.decided().unknown == ["big: its content before is not known"]
    assert it.decided(EVERYTHING).unknown == []


def test_what_was_accepted_is_taken_out_where_an_undecided_file_was():
    it = Changing(tool="start\n").run("tool", None).run("tool/a.py", "new\n")
    it.made.add("tool")
    found = it.decided(scope_of("tool/a.py"))
    assert undecided(found) == {"tool": "deleted", "tool/a.py": "new"}
    assert it.view(scope_of("tool/a.py")) == {"tool": "start\n"}


def test_what_was_accepted_is_taken_out_where_an_undecided_folder_was():
    it = Changing(tool__t="start\n").run("tool/t", None).run("tool", "new\n")
    it.gone.add("tool")
    assert it.view(scope_of("tool")) == {"tool": "/", "tool/t": "start\n"}
    assert undecided(it.decided(scope_of("tool"))) == {"tool": "new", "tool/t": "deleted"}


RUST = "fn add() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() { assert!(true); }\n}\n"


def test_a_source_in_the_scope_keeps_the_tests_inside_of_the_start():
    new = RUST.replace("add() {}", "add() { 1 }")
    it = Changing(**{"lib.rs": RUST}).run("lib.rs", new.replace("assert!(true)", ""))
    assert it.view(scope_of("lib.rs"))["lib.rs"] == new
    assert undecided(it.decided(scope_of("lib.rs"))) == {"lib.rs": "changed"}
    assert not Changing(**{"lib.rs": RUST}).run("lib.rs", new).decided(scope_of("lib.rs")).undecided


def test_tests_that_the_user_changed_inside_of_a_source_are_theirs():
    mine = RUST.replace("assert!(true)", "assert!(1 == 1)")
    it = Changing(**{"lib.rs": RUST}).run("lib.rs", RUST.replace("add() {}", "add() { 1 }"))
    it.user("lib.rs", mine.replace("add() {}", "add() { 1 }"))
    assert not it.decided(scope_of("lib.rs")).undecided


def test_output_is_absent_and_what_lies_in_it():
    it = project().run("build/x.py", "x\n")
    it.outputs.add("build")
    it.now["build"] = folder_side()
    found = it.decided(EVERYTHING)
    assert undecided(found) == {"build": "output", "build/x.py": "new"}
    assert found.view["build"].side is None and found.view["build/x.py"].side is None


def test_output_that_is_gone_again_is_nothing():
    it = project()
    it.outputs.add("build")
    assert not it.decided().undecided


def test_an_empty_folder_that_the_run_deleted_is_there_and_made_ones_are_named():
    it = project()
    it.gone, it.made = {"empty"}, {"new", "new/inner"}
    found = it.decided()
    assert it.view()["empty"] == "/" and found.folders == ["new/inner", "new"]


def test_the_digest_is_of_the_present_content_of_all_paths_that_the_run_changed():
    it = project().run(CODE, "one\n").run(TEST, "pass\n")
    first = it.decided().digest
    assert first == it.decided(EVERYTHING).digest == digest_of_paths({path: it.now[path] for path in (CODE, TEST)})
    assert it.user("other.py", "x\n").decided().digest == first
    assert it.user(TEST, "pass \n").decided().digest != first


def folder_side():
    from rundry.agent.layers.layer_effects import Side

    return Side(type="folder")


# The run changes lines 1 to 6 of a file of 20 lines, the user 12 to 18, so that no two of their changes overlap.
_RUN = st.tuples(st.just("run"), st.sampled_from(["a", "b", "c"]), st.integers(1, 6), st.sampled_from("xyz"))
_USER = st.tuples(st.just("user"), st.sampled_from(["a", "b", "c"]), st.integers(12, 18), st.sampled_from("uvw"))
_NEW = st.tuples(st.just("new"), st.sampled_from(["n", "m"]), st.just(0), st.sampled_from(["1\n", "2\n", ""]))
_UNDO = st.tuples(st.just("undo"), st.sampled_from(["a", "b", "c", "n"]), st.just(0), st.just(""))


def played(moves) -> tuple[Changing, dict[str, str]]:
    """The workspace after these moves, and as it would be without those of the run."""
    it, users = Changing(**{path: lines(20) for path in "abc"}), {path: lines(20) for path in "abc"}
    for who, path, line, text in moves:
        if who == "new":
            it.run(path, text or None)
        elif who == "undo":
            steps = it.steps.get(path)
            if steps and steps[-1].after == it.now[path]:
                it.undo(path)
        else:
            changed = _with_line(it.text(path) or "", line, text)
            (it.run if who == "run" else it.user)(path, changed)
            if who == "user":
                users[path] = _with_line(users[path], line, text)
    return it, users


def _with_line(text: str, number: int, new: str) -> str:
    every = text.splitlines(keepends=True)
    return "".join([*every[: number - 1], f"{new}\n", *every[number:]])


@given(st.lists(st.one_of(_RUN, _USER, _NEW, _UNDO), max_size=12))
def test_with_everything_in_the_scope_the_view_is_the_present_and_with_nothing_what_the_user_made(moves):
    it, users = played(moves)
    everything = it.decided(EVERYTHING)
    assert not everything.view and not everything.undecided
    assert it.view(NOTHING) == users
    shown = {path for path, past in it.decided(NOTHING).view.items()}
    assert shown == set(undecided(it.decided(NOTHING)))
