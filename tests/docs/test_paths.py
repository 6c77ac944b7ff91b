"""What the pages name is there: paths, links, requirements by their number, decisions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("agent", "tui", "themes", "tests", "docs", ".ci", ".dev")
QUOTED = re.compile(r"`([^`\n]+)`")
PATH = re.compile(rf"(?:{'|'.join(map(re.escape, FOLDERS))})/[\w./-]*|[\w.-]+\.(?:md|toml|lock)")
LINK = re.compile(r"\]\(([^)#:\s]+)\)")
CITED = re.compile(r"requirements\.md (\d+(?:\.\d+)*(?:(?:,| and| to) \d+(?:\.\d+)*)*)")
DECISION = re.compile(r"decisions/(\d{4})")
GUIDES = ("tutorial.md", "how-to/*.md", "explanation/*.md", "reference/*.md")
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def named_paths(text: str) -> list[str]:
    """Return what is a path of this repository among the words in backticks."""
    return [word for word in QUOTED.findall(text) if PATH.fullmatch(word)]


def numbers(page: str) -> set[str]:
    """Return the numbers of the requirements: sections, paragraphs, and the numbered items of a section."""
    found: set[str] = set()
    section = ""
    for line in page.splitlines():
        if heading := re.match(r"#+ (\d+(?:\.\d+)*)\.? ", line):
            section = heading[1]
            found.add(section)
        elif paragraph := re.match(r"(\d+\.\d+) ", line):
            found.add(paragraph[1])
        elif item := re.match(r"(\d+)\. ", line):
            found.add(f"{section}.{item[1]}")
    return found


def texts() -> Iterator[tuple[Path, str]]:
    """Return each text of the tree in which a page can be cited."""
    for folder in ("agent", "tui", "tests"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".toml") and "demo/project" not in path.as_posix():
                yield path, path.read_text(encoding="utf-8")
    for path in [*PAGES, ROOT / "pyproject.toml"]:
        yield path, path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["architecture.md", "glossary.md"])
def test_every_path_that_a_page_names_exists(name: str):
    named = named_paths((ROOT / "docs" / name).read_text(encoding="utf-8"))
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/decisions/*.md")), ids=lambda page: page.stem)
def test_every_file_of_the_program_that_a_decision_names_exists(page: Path):
    named = [path for path in named_paths(page.read_text(encoding="utf-8")) if path.startswith(("agent/", "tui/"))]
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_walks_and_recipes_of_the_architecture_name_many_paths():
    assert len(named_paths((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))) > 120


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_of_a_page_leads_to_a_file(page: Path):
    links = LINK.findall(page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_readme_fits_on_two_screens():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 90


@pytest.mark.parametrize("folder", GUIDES)
def test_no_page_of_the_guides_and_the_reference_is_long(folder: str):
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "docs").glob(folder)}
    assert lengths
    assert {name: length for name, length in lengths.items() if length > 300} == {}


def test_every_page_can_be_reached_from_the_readme():
    reached, new = set[Path](), {ROOT / "README.md"}
    while new:
        reached |= new
        links = {(page.parent / link).resolve() for page in new for link in LINK.findall(page.read_text("utf-8"))}
        new = {path for path in links if path.suffix == ".md"} - reached
    missing = {path for path in ROOT.glob("docs/**/*.md") if path.parent.name != "decisions"} - reached
    assert sorted(path.relative_to(ROOT).as_posix() for path in missing) == []


def test_the_glossary_defines_at_most_fifty_terms():
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    terms = [row for row in re.findall(r"^\| ([a-z][\w -]*) \|", page, re.M) if row != "term"]
    assert len(set(terms)) == len(terms)
    assert 30 < len(terms) <= 50


def test_requirements_that_are_cited_by_number_exist():
    known = numbers((ROOT / "docs" / "requirements.md").read_text(encoding="utf-8"))
    cited = [
        (path.relative_to(ROOT).as_posix(), number)
        for path, text in texts()
        for group in CITED.findall(" ".join(text.split()))
        for number in re.findall(r"\d+(?:\.\d+)*", group)
    ]
    assert [(path, number) for path, number in cited if number not in known] == []


def test_decisions_that_are_cited_by_number_exist():
    known = {path.name[:4] for path in (ROOT / "docs" / "decisions").glob("*.md")}
    cited = {(path.name, number) for path, text in texts() for number in DECISION.findall(text)}
    assert [one for one in cited if one[1] not in known] == []
