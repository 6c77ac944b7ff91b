import pytest

from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.verdict.checks.finish import reject_finish


@pytest.fixture
def workspace(tmp_path):
    root = tmp_path / "ws"
    (root / "src").mkdir(parents=True)
    (root / "src" / "calc.py").write_text("def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n")
    (root / "notes.txt").write_text("one\ntwo\n")
    (root / "odd:3").write_text("x\n")
    (tmp_path / "outside.txt").write_text("x\n")
    return Workspace(root)


TOUCHED = {"src/calc.py", "./odd:3", "src"}


def reject(workspace, *citations, answer="done", touched=TOUCHED):
    return reject_finish(answer, list(citations), workspace, touched)


@pytest.mark.parametrize(
    "citation",
    [
        "src/calc.py",
        "./src/../src/calc.py",
        "src/calc.py:6",
        "src/calc.py:5-6",
        "src/calc.py:L2",
        "src/calc.py:2:4",
        "odd:3",
        {"path": "src/calc.py"},
        {"path": "src/calc.py", "line": 2},
        {"path": "src/calc.py", "line": "2"},
        {"path": "src/calc.py:2", "quote": "return a + b"},
        {"path": "src/calc.py", "quote": "return a - b"},
        {"path": "src/calc.py", "line": 5, "quote": "def sub(a, b):\n  return a  -  b"},
        {"path": "src/calc.py", "line": None, "quote": None},
    ],
)
def test_a_citation_that_holds_is_accepted(workspace, citation):
    assert reject(workspace, citation) is None


@pytest.mark.parametrize(
    ("citation", "says"),
    [
        ("notes.txt", "neither read nor wrote"),
        ("gone.py", "neither read nor wrote"),
        ("src", "it is not a file"),
        ("src/calc.py:7", "has 6 lines, there is no line 7"),
        ("src/calc.py:0", "there is no line 0"),
        ("src/calc.py:5-60", "there is no line 60"),
        ({"path": "src/calc.py", "quote": "return a * b"}, "the quote is not there"),
        ({"path": "src/calc.py", "line": 2, "quote": "return a - b"}, "is on line 6, not on line 2"),
        ({"path": "src/calc.py", "line": True}, "whole number"),
        ({"path": "src/calc.py", "line": 2.5}, "whole number"),
        ({"path": "src/calc.py", "quote": 7}, "must be a text"),
        ({"line": 3}, "has no `path`"),
        (7, "is not a citation"),
        (["src/calc.py"], "is not a citation"),
        ("../outside.txt", "outside of the workspace"),
        ("/etc/passwd", "outside of the workspace"),
        (".git/config", "refused"),
        ("", "path"),
    ],
)
def test_one_that_does_not_hold_is_rejected_with_the_reason(workspace, citation, says):
    assert says in reject(workspace, citation)


def test_every_citation_has_to_hold(workspace):
    assert "there is no line 99" in reject(workspace, "src/calc.py", "src/calc.py:99")


def test_without_a_citation_it_is_rejected(workspace):
    assert "no citation" in reject(workspace)


def test_without_an_answer_it_is_rejected(workspace):
    assert reject(workspace, "src/calc.py", answer=" ") == "the answer is empty"


def test_a_file_that_was_deleted_since_does_not_exist(workspace):
    (workspace.root / "src/calc.py").unlink()
    assert "does not exist" in reject(workspace, "src/calc.py")


def test_a_file_that_was_read_by_another_name_counts(workspace):
    (workspace.root / "link.py").symlink_to("src/calc.py")
    assert reject(workspace, "src/calc.py:1", touched={"link.py"}) is None
    assert reject(workspace, "link.py:1", touched={str(workspace.root / "src/calc.py")}) is None


def test_a_file_that_is_not_text_can_be_cited(workspace):
    (workspace.root / "b.bin").write_bytes(b"\xff\xfe\x00\n\x80")
    assert reject(workspace, "b.bin:2", touched={"b.bin"}) is None
