"""Make tasks from programs whose tests pass: one small seeded mistake in one function, so that the tests fail.

    cd tests && python -m bench.repair.mutate --programs FOLDER --count 14 --seed 1 --out FOLDER

The programs are laid out as `bench repair` takes them (`collect.py` does that). The mistake is found in the syntax tree
and made in the source text, so that every other byte stays as it is. Programs, kinds of mistakes and places are chosen
by the seed alone. A mistake that the tests do not notice within the time is dropped for another one, and so are those
that keep the tests from being collected.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

from .tasks import CHECK, Task, tasks_in

Kind = Literal["operator", "constant", "off by one", "swapped arguments", "dropped not", "wrong variable"]

SECONDS = 10.0
"""Within which the tests must pass without the mistake, and fail with it."""
TRIES = 25
"""Mistakes that are tried in one program."""
SHORTEST = 30
"""Lines of a program."""
MEMORY = 4 << 30
"""Bytes of address space of one run of the tests: a mistake can make a program grow without end."""
FAILED = 1
"""pytest's exit code if tests failed; after an error of collection it is 2."""

_BINARY: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "//"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "|"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
}
_COMPARED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
_JOINED: dict[type[ast.boolop], tuple[str, str]] = {ast.And: ("and", "or"), ast.Or: ("or", "and")}
_EXTENDABLE = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
"""Expressions to whose text `+ 1` can be appended."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Mutation:
    """One mistake: the bytes from `start` to `end` of the source, in UTF-8, become `new`."""

    kind: Kind
    function: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def apply(self, source: str) -> str:
        data = source.encode()
        return (data[: self.start] + self.new.encode() + data[self.end :]).decode()


def mutations(source: str) -> list[Mutation]:
    """Return all mistakes that can be made in the functions of a program, in the order of the source."""
    text = _Text(source)
    found: list[Mutation] = []
    for name, function in _functions(ast.parse(source)):
        variables = _variables(function)
        for node in _own_nodes(function):
            for kind, start, end, new in _changes(text, node, variables):
                old = text.data[start:end].decode()
                found.append(Mutation(kind, name, text.line_of(start), start, end, old, new))
    before = ast.dump(ast.parse(source))
    return sorted((one for one in found if _differs(before, one.apply(source))), key=lambda one: (one.start, one.new))


def _differs(before: str, changed: str) -> bool:
    try:
        return ast.dump(ast.parse(changed)) != before
    except SyntaxError:
        return False


class _Text:
    """A source as bytes, with the places of its nodes."""

    def __init__(self, source: str) -> None:
        self.data = source.encode()
        self._starts = [0]
        for line in self.data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset

    def of(self, node: ast.expr) -> str:
        start, end = self.span(node)
        return self.data[start:end].decode()

    def line_of(self, place: int) -> int:
        return self.data.count(b"\n", 0, place) + 1

    def between(self, left: ast.expr, right: ast.expr, token: str) -> tuple[int, int] | None:
        """Return the span of the only such token between two expressions, outside of comments."""
        start, end = self.span(left)[1], self.span(right)[0]
        gap = re.sub(rb"#[^\n]*", lambda comment: b" " * len(comment[0]), self.data[start:end])
        words = rb"\s+".join(re.escape(word).encode() for word in token.split())
        places = list(re.finditer(rb"\b" + words + rb"\b" if token[0].isalpha() else words, gap))
        return (start + places[0].start(), start + places[0].end()) if len(places) == 1 else None


_Change = tuple[Kind, int, int, str]


def _changes(text: _Text, node: ast.AST, variables: list[str]) -> Iterator[_Change]:
    yield from _of_operators(text, node)
    if isinstance(node, ast.Constant):
        yield from _of_constant(text, node)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in variables:
        for other in variables:
            if other != node.id:
                yield "wrong variable", *text.span(node), other
    elif isinstance(node, ast.Call):
        yield from _of_call(text, node)
    elif isinstance(node, ast.Subscript):
        bounds = (node.slice.lower, node.slice.upper) if isinstance(node.slice, ast.Slice) else (node.slice,)
        for bound in bounds:
            yield from _off_by_one(text, bound)


def _of_operators(text: _Text, node: ast.AST) -> Iterator[_Change]:
    match node:
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _BINARY:
            yield from _replaced(text, left, right, *_BINARY[type(operator)])
        case ast.AugAssign(target=target, op=operator, value=value) if type(operator) in _BINARY:
            old, new = _BINARY[type(operator)]
            yield from _replaced(text, target, value, f"{old}=", f"{new}=")
        case ast.Compare(left=left, ops=operators, comparators=right):
            for one, operator, two in zip([left, *right], operators, right, strict=False):
                yield from _replaced(text, one, two, *_COMPARED[type(operator)])
        case ast.BoolOp(op=operator, values=values):
            for one, two in pairwise(values):
                yield from _replaced(text, one, two, *_JOINED[type(operator)])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "dropped not", text.span(node)[0], text.span(operand)[0], ""
        case _:
            pass


def _of_constant(text: _Text, node: ast.Constant) -> Iterator[_Change]:
    if isinstance(node.value, bool):
        yield "constant", *text.span(node), str(not node.value)
    elif isinstance(node.value, int):
        yield "constant", *text.span(node), str(node.value + 1)
        if node.value > 0:
            yield "constant", *text.span(node), str(node.value - 1)


def _replaced(text: _Text, left: ast.expr, right: ast.expr, old: str, new: str) -> Iterator[_Change]:
    if (place := text.between(left, right, old)) is not None:
        yield "operator", *place, new


def _off_by_one(text: _Text, node: ast.expr | None) -> Iterator[_Change]:
    if isinstance(node, _EXTENDABLE):
        start, end = text.span(node)
        yield "off by one", start, end, f"{text.of(node)} + 1"
        yield "off by one", start, end, f"{text.of(node)} - 1"


def _of_call(text: _Text, call: ast.Call) -> Iterator[_Change]:
    if isinstance(call.func, ast.Name) and call.func.id == "range":
        for argument in call.args:
            yield from _off_by_one(text, argument)
    for one, two in pairwise(call.args):
        if not isinstance(one, ast.Starred) and not isinstance(two, ast.Starred) and text.of(one) != text.of(two):
            start, end = text.span(one)[0], text.span(two)[1]
            middle = text.data[text.span(one)[1] : text.span(two)[0]].decode()
            yield "swapped arguments", start, end, f"{text.of(two)}{middle}{text.of(one)}"


def _functions(tree: ast.AST, outer: str = "") -> Iterator[tuple[str, _Function]]:
    """Yield all functions and methods with their qualified names, those inside of others as well."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, _Function | ast.ClassDef):
            if isinstance(node, _Function):
                yield f"{outer}{node.name}", node
            yield from _functions(node, f"{outer}{node.name}.")
        else:
            yield from _functions(node, outer)


def _own_nodes(function: _Function) -> Iterator[ast.AST]:
    """Yield the nodes of a function's own body, without inner functions, annotations and f-strings.

    Before Python 3.12, the nodes in an f-string have no places of their own.
    """
    waiting: list[ast.AST] = list(reversed(function.body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, _Function | ast.ClassDef | ast.Lambda | ast.JoinedStr):
            continue
        yield node
        skipped = node.annotation if isinstance(node, ast.AnnAssign) else None
        called = node.func if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
        waiting += reversed([one for one in ast.iter_child_nodes(node) if one is not skipped and one is not called])


def _variables(function: _Function) -> list[str]:
    """Return the parameters of a function and the names that its body binds."""
    given = [one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    bound = (node.id for node in _own_nodes(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    return list(dict.fromkeys([*(name for name in given if name not in ("self", "cls")), *bound]))


def choose(source: str, chance: random.Random) -> Iterator[Mutation]:
    """Yield mistakes without end or until there are no more: each time a kind by chance, then one of that kind."""
    left: dict[Kind, list[Mutation]] = {}
    for one in mutations(source):
        left.setdefault(one.kind, []).append(one)
    while left:
        kind = chance.choice(sorted(left))
        yield left[kind].pop(chance.randrange(len(left[kind])))
        if not left[kind]:
            del left[kind]


def verdict(task: Task, program: str) -> int | None:
    """Return the exit code of the tests; None if they took too long."""
    with tempfile.TemporaryDirectory(prefix="mutate-") as place:
        copy = Path(place) / task.folder.name
        task.copy_to(copy)
        (copy / task.name).write_text(program)
        try:
            done = subprocess.run(
                ["prlimit", f"--as={MEMORY}", *CHECK],
                cwd=copy,
                env={"PATH": "/usr/bin:/bin", "HOME": place, "PYTHONDONTWRITEBYTECODE": "1"},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            return None
    return done.returncode


def break_program(task: Task, chance: random.Random) -> Mutation | None:
    """Return a mistake that makes the tests fail; None if the tests do not pass without it or notice none."""
    if verdict(task, task.program) != 0:
        return None
    for number, mutation in enumerate(choose(task.program, chance)):
        if number == TRIES:
            return None
        if verdict(task, mutation.apply(task.program)) == FAILED:
            return mutation
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", metavar="FOLDER", type=Path, required=True, help="tasks whose tests pass")
    parser.add_argument("--out", metavar="FOLDER", type=Path, required=True)
    parser.add_argument("--count", metavar="N", type=int, required=True, help="number of tasks")
    parser.add_argument("--seed", metavar="N", type=int, required=True)
    parser.add_argument("--long", metavar="N", type=int, default=0, help="begin with a program of more than N lines")
    asked = parser.parse_args()
    candidates = [task for task in tasks_in(asked.programs) if len(task.program.splitlines()) >= SHORTEST]
    random.Random(asked.seed).shuffle(candidates)
    if asked.long:
        first = next(task for task in candidates if len(task.program.splitlines()) > asked.long)
        candidates.remove(first)
        candidates.insert(0, first)
    made = 0
    for task in candidates:
        if made == asked.count:
            break
        began = time.monotonic()
        mutation = break_program(task, random.Random(f"{asked.seed} {task.folder.name}"))
        if mutation is None:
            print(f"{task.folder.name}: left out, {time.monotonic() - began:.0f} s", flush=True)
            continue
        write_task(task, mutation, asked.out)
        made += 1
        print(f"{task.folder.name}: {mutation.kind} in {mutation.function}, line {mutation.line}", flush=True)


def write_task(task: Task, mutation: Mutation, out: Path) -> None:
    """Write the task with the mistake, and a line about it next to the tasks."""
    target = out / task.folder.name
    if target.exists():
        shutil.rmtree(target)
    out.mkdir(parents=True, exist_ok=True)
    task.copy_to(target)
    (target / task.name).write_text(mutation.apply(task.program))
    with (out / "mutations.jsonl").open("a") as listed:
        listed.write(json.dumps({"task": task.folder.name, **asdict(mutation)}) + "\n")


if __name__ == "__main__":
    main()
