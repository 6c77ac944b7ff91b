"""Find the sources that only test programs are built from: what CMake, meson or make compile for a check."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_CMAKE = re.compile(r"\badd_executable\s*\(\s*([\w.${}-]+)([^)]*)\)", re.IGNORECASE)
_CMAKE_TESTS = re.compile(
    r"\badd_test\s*\(\s*(?:NAME\s+\S+\s+COMMAND\s+|[\w.-]+\s+)(?:\$<TARGET_FILE:)?([\w.${}-]+)", re.IGNORECASE
)
_MESON = re.compile(r"\b(\w+)\s*=\s*executable\s*\(\s*'[^']*'([^)]*)\)")
_MESON_TESTS = re.compile(r"\btest\s*\(\s*'[^']*'\s*,\s*(\w+)")
_SOURCE = re.compile(r"[\w@./-]+\.[A-Za-z+]{1,4}\b")
_OTHERS = re.compile(r"\b(?:add_library|library|static_library|shared_library|both_libraries)\s*\(([^)]*)\)", re.I)


class TestProgram(NamedTuple):
    """A program that a build file compiles and starts as a test."""

    name: str
    sources: list[str]
    """As the build file writes them."""


def programs_of_tests(text: str) -> Iterator[TestProgram]:
    """Yield the programs that a `CMakeLists.txt` or `meson.build` starts as tests, with the sources of no library."""
    tested = {*_CMAKE_TESTS.findall(text), *_MESON_TESTS.findall(text)}
    shared = {source for match in _OTHERS.finditer(text) for source in _SOURCE.findall(match[1])}
    for name, sources in (*_CMAKE.findall(text), *_MESON.findall(text)):
        if name in tested:
            yield TestProgram(name, [each for each in _SOURCE.findall(sources) if each not in shared])
