"""A judge sees the new text of a source with the tests that it had inside at the start."""

from __future__ import annotations

import pytest

from rundry.agent.verdict.plants.inner_tests import with_old_tests

RUST = """pub fn add(a: i32, b: i32) -> i32 { a - b }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        assert_eq!(add(1, 2), 3); // "}"
    }
}
"""
DOCUMENTED = """/// Adds.
///
/// ```
/// assert_eq!(calc::add(1, 2), 3);
/// ```
pub fn add(a: i32, b: i32) -> i32 { a - b }
"""
ZIG = """pub fn add(a: i32, b: i32) i32 { return a - b; }

test "adds" {
    try expect(add(1, 2) == 3);
}

test "text" {
    const x = "}";
    try expect(x.len == 1);
}
"""
D = """int add(int a, int b) { return a - b; }

unittest
{
    assert(add(1, 2) == 3);
}
"""
VITEST = """export const add = (a, b) => a - b

if (import.meta.vitest) {
  const { it, expect } = import.meta.vitest
  it('adds }', () => { expect(add(1, 2)).toBe(3) })
}
"""
PYTHON = '''def add(a, b):
    """Add.

    >>> add(1, 2)
    3
    """
    return a - b


class Till:
    """A till.

    >>> Till().sum()
    0
    """

    def sum(self):
        return 1
'''
ELIXIR = '''defmodule Calc do
  @doc """
  Adds.

      iex> Calc.add(1, 2)
      3
  """
  def add(a, b), do: a - b
end
'''
C = """int add(int a, int b) { return a - b; }
#ifdef TEST
int main(void) {
#if DEBUG
  puts("x");
#endif
  return add(1, 2) == 3 ? 0 : 1;
}
#endif
"""


@pytest.mark.parametrize(
    ("path", "old", "repaired", "gutted"),
    [
        ("src/lib.rs", RUST, ("a - b", "a + b"), ('assert_eq!(add(1, 2), 3); // "}"', "")),
        ("src/lib.rs", DOCUMENTED, ("a - b", "a + b"), ("assert_eq!(calc::add(1, 2), 3);", "let x = 1;")),
        ("src/a.zig", ZIG, ("a - b", "a + b"), ("add(1, 2) == 3", "true")),
        ("src/a.d", D, ("a - b", "a + b"), ("add(1, 2) == 3", "true")),
        ("src/a.ts", VITEST, ("a - b", "a + b"), ("toBe(3)", "toBe(-1)")),
        ("src/a.py", PYTHON, ("a - b", "a + b"), ("    3\n", "    -1\n")),
        ("src/a.ex", ELIXIR, ("a - b", "a + b"), ("      3\n", "      -1\n")),
        ("src/a.c", C, ("a - b", "a + b"), ("== 3", "!= 3")),
    ],
)
class TestEachLanguage:
    def test_code_is_new_and_tests_are_old(
        self, path: str, old: str, repaired: tuple[str, str], gutted: tuple[str, str]
    ):
        new = old.replace(*repaired).replace(*gutted)
        assert new.count(gutted[0]) < old.count(gutted[0])
        assert with_old_tests(path, old, new, doctests=True) == old.replace(*repaired)

    def test_an_honest_change_stays_as_it_is(
        self, path: str, old: str, repaired: tuple[str, str], gutted: tuple[str, str]
    ):
        new = old.replace(*repaired)
        assert with_old_tests(path, old, new, doctests=True) == new

    def test_a_new_file_stays_as_it_is(self, path: str, old: str, repaired: tuple[str, str], gutted: tuple[str, str]):
        assert with_old_tests(path, None, old, doctests=True) == old


class TestRust:
    def test_deleted_tests_come_back(self):
        new = RUST[: RUST.index("#[cfg(test)]")]
        found = with_old_tests("a.rs", RUST, new)
        assert found is not None
        assert found.startswith(new)
        assert RUST[RUST.index("#[cfg(test)]") :].strip() in found

    def test_renamed_tests_come_back_and_new_ones_go(self):
        new = RUST.replace("mod tests", "mod checks").replace("3); //", "-1); //")
        found = with_old_tests("a.rs", RUST, new)
        assert found is not None
        assert "mod checks" not in found
        assert "add(1, 2), 3)" in found

    def test_another_body_for_tests_alone_goes(self):
        new = RUST + "\n#[cfg(test)]\npub fn helper() -> i32 { 3 }\n"
        found = with_old_tests("a.rs", RUST, new)
        assert found is not None
        assert "helper" not in found

    def test_a_test_outside_of_a_module_is_a_test(self):
        old = "pub fn a() {}\n\n#[test]\nfn works() { assert!(false); }\n"
        found = with_old_tests("a.rs", old, old.replace("false", "true"))
        assert found == old

    def test_a_test_inside_of_something_has_no_other_place(self):
        old = "impl A {\n    #[cfg(test)]\n    fn only() -> i32 { 3 }\n}\n"
        assert with_old_tests("a.rs", old, "impl A {\n}\n") is None

    def test_lifetimes_and_raw_strings_do_not_confuse_it(self):
        old = RUST + "fn f<'a>(x: &'a str) -> char { let _ = r#\"}\"#; '}' }\n"
        assert with_old_tests("a.rs", old, old.replace("a - b", "a + b")) == old.replace("a - b", "a + b")

    def test_a_block_that_does_not_end_has_no_tests_that_can_be_kept(self):
        assert with_old_tests("a.rs", RUST, RUST[:-3]) is None


class TestPython:
    def test_without_doctests_a_docstring_is_code(self):
        new = PYTHON.replace("    3\n", "    -1\n")
        assert with_old_tests("a.py", PYTHON, new) == new

    def test_a_function_that_lost_its_docstring_has_no_place_for_it(self):
        new = "def add(a, b):\n    return a + b\n"
        assert with_old_tests("a.py", PYTHON, new, doctests=True) is None

    def test_a_new_function_keeps_its_own_examples(self):
        new = PYTHON + '\n\ndef sub(a, b):\n    """Subtract.\n\n    >>> sub(2, 1)\n    1\n    """\n    return a - b\n'
        assert with_old_tests("a.py", PYTHON, new, doctests=True) == new

    def test_what_does_not_parse_has_no_place(self):
        assert with_old_tests("a.py", PYTHON, "def (", doctests=True) is None

    def test_signs_of_several_bytes_do_not_move_the_place(self):
        old = PYTHON.replace("Add.", "Füge € hinzu.")
        new = old.replace("a - b", "a + b").replace("    3\n", "    -1\n")
        assert with_old_tests("a.py", old, new, doctests=True) == old.replace("a - b", "a + b")


def test_unnamed_tests_are_counted():
    old = D + "\nunittest { assert(add(2, 2) == 4); }\n"
    one = D.replace("add(1, 2) == 3", "true")
    found = with_old_tests("a.d", old, one)
    assert found is not None
    assert "add(1, 2) == 3" in found
    assert "add(2, 2) == 4" in found


def test_other_languages_have_no_tests_inside():
    assert with_old_tests("a.go", "package a\n", "package b\n") == "package b\n"
