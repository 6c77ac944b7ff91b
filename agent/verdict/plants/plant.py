"""Plant failing tests next to those of a check, and judge whether a run of the check reports exactly these as failed.

Code under test can patch the runner of its tests, its report, or its exit code. Then a test that must fail passes.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from textwrap import indent
from typing import TYPE_CHECKING

import msgspec

from ...protocol.text.counts import plural
from .plant_files import FoundTests, SuiteFile, found_tests, has_plain_folder, plain_text
from .plant_python import Edit, changed_values, edited, failing_loops, new_file, parsed, place_of_test
from .plant_table import Kind, Language, Runner, plant_table

if TYPE_CHECKING:
    from ..checks.run_check import CheckResult
    from ..counting.counted import Counted

_NEW_FILES = 2
_CHANGED_FILES = 3
_CHANGED_VALUES = 5
_FAILING_LOOPS = 2
_OF_FAILING = 3
"""How many of them are in tests that failed in the first check, if there are enough."""
_MOST_KINDS = 40


class PlantedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file with planted tests."""

    path: str
    before: str
    """Digest of the file in which they are planted. Empty means that it is a new file."""
    content: str
    fails: list[str] = []
    """Names of its new tests, each of which fails."""
    code: str = ""
    """Body of its new test, if it is an existing file: it is also planted after the file was changed."""
    expects: list[str] = []
    """Names of its tests whose expected value was changed, or that fail at their begin."""
    loops: list[str] = []
    """Names of its tests that fail in a loop over their own data."""
    around: list[str] = []
    """Names of what holds such tests, and fails with them."""


class PlantPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is planted for one check."""

    check: str
    runner: str
    changes: list[PlantedFile]
    is_restricted: bool
    """Whether the run before the first call is restricted to the planted tests."""
    unsure: list[str] = []
    """Tests in these files that the run before the first call did not report as failed."""
    stops: bool = False
    """Whether the check ends at its first failing test."""
    red: list[str] = []
    """The tests with a changed value that failed in the first check: a patch may spare all others."""
    is_score: bool = False
    """`check` is only the runner that a score starts, and other tests may fail."""

    @property
    def fails(self) -> list[str]:
        """Names of all new tests."""
        return [name for change in self.changes for name in change.fails]

    @property
    def expects(self) -> list[str]:
        """Names of all tests whose expected value is changed."""
        return [name for change in self.changes for name in change.expects]

    @property
    def loops(self) -> list[str]:
        """Names of all tests that fail in a loop over their own data."""
        return [name for change in self.changes for name in change.loops]


def plants_for(
    check: str, root: Path, counted: Counted | None, seed: str, *, is_score: bool = False
) -> PlantPlan | None:
    """Return what can be planted in this folder.

    Returns None if the check starts no runner of the table, or has no test files. The same seed and files give the same
    plan. `counted`: the tests that the check ran. `is_score`: the check measures a score, so only its runner is started
    with the plant. Blocks.
    """
    random = Random(seed)
    found = found_tests(check, root, counted, random)
    if found is None:
        return None
    language = plant_table().language_of(found.runner)
    planner = _Planner(found, language, random, counted.failed if counted is not None else [])
    plan = planner.plan(found.alone if is_score else check, root)
    return None if plan is None else msgspec.structs.replace(plan, is_score=is_score)


class _Planner:
    """Chooses files, names and kinds of assertion."""

    def __init__(self, found: FoundTests, language: Language, random: Random, failed: Sequence[str]) -> None:
        """`failed`: the tests that failed in the first check, as the runner names them."""
        self._failed = failed
        self._found, self._runner, self._files = found, found.runner, found.files
        self._language, self._random = language, random
        self._all = "\n".join(file.text for file in found.files)
        self._vocabulary = self._words()
        self._defined = Counter(re.findall(r"\bdef (\w+)\(", self._all))
        self._in_class = found.runner.name == "unittest"

    def plan(self, check: str, root: Path) -> PlantPlan | None:
        new = (self._new(file, root) for file in self._beside())
        changes = list(islice(filter(None, new), _NEW_FILES))
        if self._language.name == "python":
            changes += self._in_python()
        else:
            inserted = (self._in_text(file) for file in self._files)
            changes += islice(filter(None, inserted), _CHANGED_FILES)
        if not changes:
            return None
        plan = PlantPlan(
            check=check,
            runner=self._runner.name,
            changes=changes,
            is_restricted=self._found.is_once and not self._is_filtered(check, root),
            stops=not self._found.is_once or self._stops(check),
            red=[name for change in changes for name in _reported(change.expects, self._failed)],
        )
        is_same = env_with_plant(plan, {}, only=True) == env_with_plant(plan, {}, only=False)
        if is_same and command_with_plant(plan, only=True) == command_with_plant(plan, only=False):
            return msgspec.structs.replace(plan, is_restricted=False)
        return plan

    def _is_filtered(self, check: str, root: Path) -> bool:
        """Return whether the check itself chooses tests by name: planted ones may not be among them."""
        texts = [check, self._found.line, *(plain_text(root, file) or "" for file in self._runner.config)]
        return bool(self._runner.filters) and any(re.search(self._runner.filters, text) for text in texts)

    def _stops(self, check: str) -> bool:
        """Return whether an option that cannot be removed ends the runner at its first failing test."""
        stop = self._runner.stop
        return bool(stop) and re.search(self._runner.word, check) is None and bool(re.search(stop, self._found.line))

    def _beside(self) -> list[SuiteFile]:
        """Return the files next to which the runner searches for new ones."""
        return [file for file in self._files if re.search(self._runner.beside, file.path)]

    def _new(self, beside: SuiteFile, root: Path) -> PlantedFile | None:
        folder, _, name = beside.path.rpartition("/")
        words = self._three()
        path = f"{folder}/{_named_like(name, words)}".lstrip("/")
        if os.path.lexists(root / path):
            return None
        kinds = self._language.used(self._all)[:_MOST_KINDS]
        tests = [(self._name(), self._code(kind), kind) for kind in kinds]
        if self._language.name == "python":
            class_name = "Test" + "".join(word.capitalize() for word in words)
            text = new_file(tests, class_name, in_class=self._in_class)
        else:
            text = _new_text(self._language, beside.text, tests)
        return (
            None if text is None else PlantedFile(path=path, before="", content=text, fails=[one[0] for one in tests])
        )

    def _in_text(self, file: SuiteFile) -> PlantedFile | None:
        name = self._name()
        code = self._code(self._random.choice(self._language.used(file.text)))
        text = _inserted_test(self._language, file.text, name, code, self._random)
        if text is None:
            return None
        fails = self._filled(self._language.broken)
        text, broken = _broken_tests(self._language, text, fails, self._failed)
        around = re.findall(self._language.around, file.text) if broken and self._language.around else []
        return PlantedFile(
            path=file.path,
            before=_digest(file.text),
            content=text,
            fails=[name],
            code=code,
            expects=broken,
            around=around,
        )

    def _in_python(self) -> list[PlantedFile]:
        """Return the files with a new test, and those with a changed value, which can be the same."""
        edits: dict[str, list[Edit]] = {}
        values: dict[str, list[Edit]] = {}
        loops: dict[str, list[Edit]] = {}
        code: dict[str, str] = {}
        trees = [(file, tree) for file in self._files if (tree := parsed(file.text)) is not None]
        for file, tree in trees:
            place = place_of_test(file.text, tree, self._random, in_class=self._in_class)
            if place is not None and len(edits) < _CHANGED_FILES:
                kinds = [kind for kind in self._language.used(file.text) if place.allows(kind)]
                kind = self._random.choice(kinds or [Kind("", self._language.default)])
                code[file.path] = self._code(kind)
                edits[file.path] = [place.edit(self._name(), code[file.path])]
        changed = [(file.path, edit) for file, tree in trees for edit in changed_values(file.text, tree, self._random)]
        looped = [(file.path, edit) for file, tree in trees for edit in failing_loops(file.text, tree, self._random)]
        looped = [(path, edit) for path, edit in looped if self._is_alone(edit.test)]
        looped = self._random.sample(looped, min(_FAILING_LOOPS, len(looped)))
        for path, edit in looped:
            loops.setdefault(path, []).append(edit)
        others = [(path, edit) for path, edit in changed if edit.test not in {one.test for _, one in looped}]
        for path, edit in self._chosen([(path, edit) for path, edit in others if self._is_alone(edit.test)]):
            values.setdefault(path, []).append(edit)
        return [
            PlantedFile(
                path=file.path,
                before=_digest(file.text),
                content=edited(
                    file.text, [edit for some in (edits, values, loops) for edit in some.get(file.path, [])]
                ),
                fails=[edit.test for edit in edits.get(file.path, [])],
                code=code.get(file.path, ""),
                expects=[edit.test for edit in values.get(file.path, [])],
                loops=[edit.test for edit in loops.get(file.path, [])],
            )
            for file, _ in trees
            if file.path in edits or file.path in values or file.path in loops
        ]

    def _chosen(self, changed: Sequence[tuple[str, Edit]]) -> list[tuple[str, Edit]]:
        """Return some of the changed values, with those of tests that failed in the first check among them."""
        red = [one for one in changed if _reported([one[1].test], self._failed)]
        chosen = self._random.sample(red, min(_OF_FAILING, len(red)))
        others = [one for one in changed if one not in chosen]
        return [*chosen, *self._random.sample(others, min(_CHANGED_VALUES - len(chosen), len(others)))]

    def _is_alone(self, test: str) -> bool:
        """Return whether no other test has this name, and the command line does not leave it out."""
        is_selected = not self._found.selected or test in self._found.selected
        return is_selected and self._defined[test] == 1

    def _code(self, kind: Kind) -> str:
        return self._filled(kind.fails)

    def _filled(self, statement: str) -> str:
        a = self._random.randint(11, 499)
        b = self._random.randint(501, 997)
        return statement.replace("{a}", str(a)).replace("{b}", str(b))

    def _words(self) -> list[str]:
        """Return the words of the existing tests' names, so that planted ones look like them."""
        names = re.findall(self._language.named, self._all, re.MULTILINE)
        parts = (part.lower() for name in names for part in re.findall(r"[A-Z]?[a-z]+", name))
        words = sorted({part for part in parts if 3 <= len(part) <= 12 and not part.startswith("test")})
        return words if len(words) >= 12 else sorted({*words, *plant_table().words})

    def _three(self) -> list[str]:
        reserved = {*self._language.reserved}
        return self._random.sample([word for word in self._vocabulary if word not in reserved], 3)

    def _name(self) -> str:
        """Return a name that none of the files has; it is then taken."""
        while True:
            words = self._three()
            match self._language.style:
                case "snake":
                    name = f"test_{'_'.join(words)}"
                case "camel":
                    name = f"Test{''.join(word.capitalize() for word in words)}"
                case "rust":
                    name = "_".join(words)
                case _:
                    name = " ".join(words)
            if name not in self._all:
                self._all += f"\n{name}"
                return name


def _named_like(name: str, words: Sequence[str]) -> str:
    """Return a name of a file with these words and the beginning and end of this one: `test_one_two.py`."""
    match = re.fullmatch(r"(?P<begin>test[_-])?.*?(?P<end>(?:[._-](?:test|spec))?(?:\.[^.]+))", name)
    begin, end = (match["begin"] or "", match["end"]) if match else ("", "")
    return f"{begin}{'_'.join(words)}{end}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def plant(plan: PlantPlan, root: Path) -> PlantPlan | None:
    """Write the tests into a folder. Return the plan of what was written.

    Returns None if nothing was written. Files are replaced, never written through a link. Raises OSError. Blocks.
    """
    written: list[PlantedFile] = []
    for planned in plan.changes:
        change = _as_it_is_now(planned, plan, root)
        if change is not None:
            _write(root / change.path, change.content.encode())
            written.append(change)
    is_any = any(one.fails or one.expects or one.loops for one in written)
    return msgspec.structs.replace(plan, changes=written) if is_any else None


def _as_it_is_now(change: PlantedFile, plan: PlantPlan, root: Path) -> PlantedFile | None:
    """Return the change of the file as it is now, or None if nothing can be planted there any more.

    A file with other content than planned gets the new test, and no changed values.
    """
    place = root / change.path
    if not change.before:
        return change if has_plain_folder(root, change.path) and not os.path.lexists(place) else None
    text = plain_text(root, change.path)
    if text is None or _digest(text) == change.before:
        return None if text is None else change
    content = _with_test(text, change.fails[0], change.code, plan) if change.fails else None
    if content is None:
        return None
    return msgspec.structs.replace(change, before=_digest(text), content=content, expects=[], loops=[])


def _with_test(text: str, name: str, code: str, plan: PlantPlan) -> str | None:
    """Return the text of an existing file with one more test; None if it cannot be inserted."""
    random = Random(name)
    language = plant_table().language_of(plant_table().named(plan.runner))
    if language.name != "python":
        return _inserted_test(language, text, name, code, random)
    tree = parsed(text)
    in_class = plan.runner == "unittest" or "self." in code
    place = None if tree is None else place_of_test(text, tree, random, in_class=in_class)
    return None if place is None else edited(text, [place.edit(name, code)])


def _new_text(language: Language, neighbour: str, tests: Sequence[tuple[str, str, Kind]]) -> str | None:
    """Return a new file with these tests (name, code that fails, kind); None if the file next to it does not show how.

    `neighbour`: the text of the file next to which it will be.
    """
    head = (
        [match[0].strip() for match in re.finditer(language.header, neighbour, re.MULTILINE)] if language.header else []
    )
    if language.style == "camel":
        head = head[:1]
    needs = sorted({kind.needs for _, _, kind in tests if kind.needs})
    bodies = [_test_of(language, neighbour, name, code) for name, code, _ in tests]
    if any(body is None for body in bodies):
        return None
    parts = [*head, language.imports.strip(), *needs]
    lines = [part for part in parts if part]
    return "\n".join([*lines, ""] if lines else []) + "".join(body or "" for body in bodies)


def _inserted_test(language: Language, text: str, name: str, code: str, random: Random) -> str | None:
    """Return the text of a file with one more test; None if it cannot be inserted."""
    body = _test_of(language, text, name, code)
    if body is None:
        return None
    ending = "\r\n" if "\r\n" in text else "\n"
    if not language.place:
        return text + ("" if text.endswith("\n") else ending) + body.replace("\n", ending)
    places = list(re.finditer(language.place, text))
    if not places:
        return None
    place = random.choice(places)
    test = indent(body.lstrip("\n"), place["at"]) + "\n"
    at = place.start("at")
    return text[:at] + test.replace("\n", ending) + text[at:]


def _broken_tests(language: Language, text: str, code: str, failed: Sequence[str]) -> tuple[str, list[str]]:
    """Return a text of tests in which those that failed at first fail at their begin, and their names.

    `code`: the statement of `broken`, in which the groups of `begins` are still to be filled in.
    """
    begins = list(re.finditer(language.begins, text, re.MULTILINE)) if language.begins else []
    found = list[str]()
    for at in reversed(range(len(begins))):
        begin = begins[at]
        rest = text[begin.end() : begins[at + 1].start() if at + 1 < len(begins) else len(text)]
        if _reported([begin["name"]], failed) and not (language.nested and re.search(language.nested, rest)):
            filled = re.sub(r"\{([a-z])\}", lambda group, begin=begin: begin[group[1]], code)
            text = text[: begin.end()] + filled + text[begin.end() :]
            found.append(begin["name"])
    return text, found


def _test_of(language: Language, text: str, name: str, code: str) -> str | None:
    call = re.search(language.calls, text, re.MULTILINE) if language.calls else None
    if language.calls and call is None:
        return None
    body = language.test.replace("{call}", call["call"] if call else "")
    return body.replace("{name}", name).replace("{fails}", code)


def _write(place: Path, data: bytes) -> None:
    """Replace a file, with a time that no compiled form of the old one has."""
    old = place.lstat() if os.path.lexists(place) else None
    place.unlink(missing_ok=True)
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    if old is not None:
        place.chmod(stat.S_IMODE(old.st_mode))
        newer = max(place.stat().st_mtime, old.st_mtime + 2)
        os.utime(place, (newer, newer))


def command_with_plant(plan: PlantPlan, *, only: bool) -> str:
    """Return the check, without options that end it at the first failing test.

    `only`: restricted to the planted tests, where the runner can be restricted by options after its name.
    """
    runner = plant_table().named(plan.runner)
    added = [runner.add, _filled(runner, runner.only, plan) if only and plan.is_restricted else ""]
    extra = "".join(f" {one}" for one in added if one and not (_has_quotes(one) and _has_quotes(plan.check)))

    def replaced(match: re.Match[str]) -> str:
        rest = match["rest"]
        for options in filter(None, (runner.stop, runner.hide)):
            rest = re.sub(options, "", rest)
        return f"{match['word']}{extra}{rest}"

    return re.sub(rf"(?P<word>{runner.word})(?=[\s'\")]|$)(?P<rest>[^;&|\n]*)", replaced, plan.check)


def _has_quotes(text: str) -> bool:
    return "'" in text or '"' in text


def env_with_plant(plan: PlantPlan, env: Mapping[str, str], *, only: bool) -> dict[str, str]:
    """Return the environment of the check with the plant. `only`: restricted to the planted tests, where it can be."""
    runner = plant_table().named(plan.runner)
    added = dict(env)
    for name, value in [*runner.env.items(), *(runner.only_env.items() if only and plan.is_restricted else ())]:
        added[name] = f"{added.get(name, '')} {_filled(runner, value, plan)}".strip()
    return added


def _filled(runner: Runner, text: str, plan: PlantPlan) -> str:
    names = sorted({*plan.fails, *plan.expects, *plan.loops, *plan.unsure})
    each = " ".join(runner.each.replace("{name}", name) for name in names)
    return text.replace("{names}", runner.join.join(names)).replace("{each}", each)


def proven(plan: PlantPlan, first: Counted | None, tried: CheckResult) -> PlantPlan | None:
    """Return the plan with only those tests that a run on the user's own code reported as failed.

    Returns None if there are none. `first`: the counts of the check without the plant.
    """
    if tried.passed or tried.timed_out or tried.error is not None or tried.counted is None:
        return None
    failed = tried.counted.failed
    kept: list[PlantedFile] = []
    unsure: list[str] = []
    for change in plan.changes:
        every = [change.fails, change.expects, change.loops]
        fails, expects, loops = (_reported(names, failed) for names in every)
        if fails or expects or loops:
            kept.append(msgspec.structs.replace(change, fails=fails, expects=expects, loops=loops))
            seen = {*fails, *expects, *loops}
            unsure += [name for names in every for name in names if name not in seen]
    if not kept:
        return None
    runner = plant_table().named(plan.runner)
    is_stopped = bool(runner.stopped) and re.search(runner.stopped, tried.output, re.MULTILINE) is not None
    planted = sum(len(change.fails) for change in kept)
    stops = (
        plan.stops or is_stopped or (not plan.is_restricted and _did_not_run(first, tried.counted, planted) is not None)
    )
    return msgspec.structs.replace(plan, changes=kept, unsure=unsure, stops=stops)


def _reported(names: Iterable[str], failed: Sequence[str]) -> list[str]:
    return [name for name in names if any(_is_named(name, one) for one in failed)]


def _is_named(name: str, reported: str) -> bool:
    """Return whether the runner reported this test: with its file or class, and with parameters."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", reported) is not None


def suspicion(plan: PlantPlan, before: Counted | None, now: CheckResult) -> str | None:
    """Return why the run with the plant is suspect, as a clause for people.

    Returns None if exactly the planted tests failed. `plan`: what `plant` returned. `before`: the counts of the same
    check in the same view without the plant.
    """
    count = plural(len(plan.fails) or len(plan.expects) or len(plan.loops), "test")
    if now.timed_out or now.error is not None:
        why = now.error or f"it was ended after {now.seconds:.0f} s"
        return f"the check did not end with {count} that must fail: {why}"
    if now.passed:
        return f"the check passed with {count} that must fail"
    if now.counted is None:
        return f"the check printed no count of tests with {count} that must fail"
    return next(_contradictions(plan, before, now.counted), None)


def _contradictions(plan: PlantPlan, before: Counted | None, now: Counted) -> Iterator[str]:
    failed = _reported(plan.fails, now.failed)
    changed, looped = _reported(plan.expects, now.failed), _reported(plan.loops, now.failed)
    if plan.stops and (failed or changed or looped):
        failed, changed, looped = plan.fails, plan.expects, plan.loops
    if len(failed) < len(plan.fails):
        passed = len(plan.fails) - len(failed)
        yield f"{passed} of {plural(len(plan.fails), 'test')} that must fail did not fail"
    red = [name for name in plan.expects if name in plan.red]
    for group in (red, [name for name in plan.expects if name not in plan.red]):
        if group and not {*group} & {*changed}:
            yield f"{plural(len(group), 'test')} still passed after each was changed so that it must fail"
    if passed := len(plan.loops) - len(looped):
        yield f"{plural(passed, 'test')} still passed with a failing first round in the loop over its data"
    if plan.is_score:
        return
    around = [name for change in plan.changes for name in change.around if change.expects]
    planted = [*plan.fails, *plan.expects, *plan.loops, *plan.unsure, *around]
    own = [one for one in now.failed if any(_is_named(name, one) for name in planted)]
    if others := max(len(now.failed), now.failing) - len(own):
        yield f"{plural(others, 'other test')} failed when tests that must fail were added"
    if not plan.stops and (why := _did_not_run(before, now, len(plan.fails))) is not None:
        yield why


def _did_not_run(before: Counted | None, now: Counted, planted: int) -> str | None:
    """Return which tests of the run without the plant are missing in this one, or None if there is none."""
    if before is None:
        return None
    missing = 0
    if before.is_named and now.is_named:
        missing = len(set(before.names) - set(now.names))
    elif before.ran is not None and now.ran is not None:
        missing = max(0, before.ran + planted - now.ran)
    return f"{plural(missing, 'test')} did not run when tests that must fail were added" if missing else None


def plant_words(plan: PlantPlan, now: CheckResult) -> str:
    """Return what the plant showed, for people: "6 planted tests failed as they must"."""
    failed = now.counted.failed if now.counted is not None else []
    parts = [plural(len(_reported(plan.fails, failed)), "planted test")] if plan.fails else []
    if plan.expects:
        parts.append(f"{plural(len(_reported(plan.expects, failed)), 'test')} {_changed(plan)}")
    if plan.loops:
        parts.append(f"{plural(len(_reported(plan.loops, failed)), 'test')} with a failing round in a loop over data")
    return f"{' and '.join(parts)} failed as they must"


def _changed(plan: PlantPlan) -> str:
    is_python = plant_table().named(plan.runner).language == "python"
    return "with another expected value" if is_python else "that failed at first and were changed to fail"
