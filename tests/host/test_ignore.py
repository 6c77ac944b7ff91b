import subprocess

import pytest

from rundry.agent.host.ignored_files import Ignore

FILES = [
    "a.log",
    "keep.log",
    "build/x",
    "src/build/y",
    "src/a.py",
    "src/gen.py",
    "src/deep/gen.py",
    "src/deep/keep.txt",
    "doc/x.tmp",
    "doc/!odd",
    "only/here/z",
    "sp ace/f .txt",
]
RULES = {
    ".gitignore": "# comment\n*.log\n!keep.log\n/build/\ndoc/*.tmp\n\\!odd\nonly/*\n!only/here\n[\nf\\ .txt\n",
    "src/.gitignore": "gen.py\n*.txt\n",
    "src/deep/.gitignore": "!gen.py\n!keep.txt\n",
}


@pytest.fixture
def tree(tmp_path):
    for name in FILES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    for name, text in RULES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_it_says_what_git_says(tree):
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--others", "--exclude-standard"], cwd=tree, capture_output=True, check=True
    )
    expected = sorted(listed.stdout.decode().rstrip("\0").split("\0"))
    ignore = Ignore(tree)
    assert sorted(name for name, _ in ignore.walk()) == expected
    assert sorted(name for name in [*FILES, *RULES] if not Ignore(tree).ignored(name)) == expected


def test_the_users_own_patterns_count_in_the_order_in_which_git_takes_them(tree):
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    mine, here = tree / ".git/mine", tree / ".git/info/exclude"
    mine.write_text("*.py\ny\nkeep.log\n")
    here.write_text("!a.py\n*.txt\n")
    words = ["git", "-c", f"core.excludesFile={mine}", "ls-files", "-z", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=tree, capture_output=True, check=True)
    expected = sorted(listed.stdout.decode().rstrip("\0").split("\0"))
    assert "src/a.py" in expected and "keep.log" in expected and "src/build/y" not in expected
    assert sorted(name for name, _ in Ignore(tree, excludes=[mine, here]).walk()) == expected


def test_a_changed_file_is_noticed(tree):
    ignore = Ignore(tree)
    assert ignore.ignored("a.log") and not ignore.ignored("src/a.py")
    (tree / ".gitignore").write_text("src/\n")
    assert not ignore.ignored("a.log") and ignore.ignored("src/a.py")
    (tree / ".gitignore").unlink()
    assert not ignore.ignored("src/a.py")


def test_what_tools_leave_everywhere_is_ignored_unless_the_project_wants_it(tmp_path):
    ignore = Ignore(tmp_path)
    assert ignore.ignored("a/__pycache__/x.pyc") and ignore.ignored("node_modules", is_dir=True)
    assert ignore.ignored(".git/config") and ignore.ignored("src/.rundry-0a1b.tmp")
    assert not ignore.ignored("node_modules")
    (tmp_path / ".gitignore").write_text("!node_modules/\n")
    assert not ignore.ignored("node_modules/x.js")


def test_walking_from_a_folder_gives_names_below_it_and_follows_no_link(tree):
    (tree / "src/up").symlink_to("..")
    names = [name for name, _ in Ignore(tree).walk("src/")]
    below = [".gitignore", "a.py", "build/y", "deep/.gitignore", "deep/gen.py", "deep/keep.txt", "up"]
    assert names == [f"src/{name}" for name in below]
