"""node, and jest, vitest, go and cargo where they are on `PATH` (of jest and vitest the folder `node_modules/.bin`)."""

import shutil
import subprocess
from pathlib import Path

import pytest
from verdict.plant.trial import judged, proven_plan, wrote

CJS_TESTS = """'use strict';
const { describe, it, test } = require('node:test');
const assert = require('node:assert/strict');
const { double } = require('./calc.js');

describe('double', () => {
  it('doubles two', () => {
    assert.equal(double(2), 4);
  });
  it('throws', () => {
    assert.throws(() => double(null), TypeError);
  });
});
test('zero stays', () => assert.deepEqual([double(0)], [0]));
"""
ESM_TESTS = """import test from 'node:test';
import assert from 'node:assert';
import { double } from '../calc.mjs';
test('doubles two', async (t) => {
  await t.test('inner', () => assert.strictEqual(double(2), 4))
})
test('zero stays', () => { assert.ok(double(0) === 0) })
"""
CJS_WRONG = "exports.double = (x) => { if (x === null) throw new TypeError('x'); return x; };\n"
CJS_RIGHT = CJS_WRONG.replace("return x", "return 2 * x")
ESM_WRONG = "export const double = (x) => x;\n"
ESM_RIGHT = "export const double = (x) => 2 * x;\n"
CJS = {"calc.js": CJS_WRONG, "calc.test.js": CJS_TESTS}
ESM = {"calc.mjs": ESM_WRONG, "test/calc.mjs": ESM_TESTS}
SCRIPT = {"package.json": '{"scripts": {"test": "node --test --test-reporter=tap"}}', **CJS}
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")


@needs_node
@pytest.mark.parametrize(
    ("files", "change", "check"),
    [
        (CJS, {"calc.js": CJS_RIGHT}, "node --test"),
        (CJS, {"calc.js": CJS_RIGHT}, "node --test --test-reporter=spec calc.test.js"),
        (ESM, {"calc.mjs": ESM_RIGHT}, "node --test"),
        (ESM, {"calc.mjs": ESM_RIGHT}, "node --test test/*.mjs"),
        (SCRIPT, {"calc.js": CJS_RIGHT}, "npm test"),
    ],
)
def test_an_honest_fix_is_not_suspect_with_node(files, change, check, tmp_path):
    why, words = judged(check, wrote(tmp_path / "w", files), change)
    assert why is None
    assert "planted test" in words


NODE_ATTACKS = {
    "asserts nothing": "const assert = require('node:assert/strict');\n"
    "for (const name of ['equal', 'throws', 'deepEqual']) assert[name] = () => {};\n",
    "runs only the known tests": """const runner = require('node:test');
const known = ['double', 'doubles two', 'throws', 'zero stays'];
for (const name of ['it', 'test', 'describe']) {
  const real = runner[name];
  runner[name] = (title, run) => known.includes(title) ? real(title, name === 'describe' ? run : () => {}) : undefined;
}
""",
}


@needs_node
def test_code_that_empties_only_the_failing_test_of_node_is_suspect(tmp_path):
    """The planted tests run as they are. So the test that failed at first is changed to fail, too."""
    empties = """const runner = require('node:test');
const real = runner.it;
runner.it = (title, run) => real(title, title === 'doubles two' ? () => {} : run);
"""
    root = wrote(tmp_path / "w", {"calc.js": CJS_WRONG, "calc.test.js": _loaded_first(CJS_TESTS)})
    why, _ = judged("node --test", root, {"calc.js": empties + CJS_WRONG})
    assert why == "1 test still passed after each was changed so that it must fail"


@needs_node
@pytest.mark.parametrize("attack", NODE_ATTACKS)
def test_code_that_makes_node_pass_is_suspect(attack, tmp_path):
    tests = CJS_TESTS if attack != "runs only the known tests" else _loaded_first(CJS_TESTS)
    root = wrote(tmp_path / "w", {"calc.js": CJS_WRONG, "calc.test.js": tests})
    why, _ = judged("node --test", root, {"calc.js": NODE_ATTACKS[attack] + CJS_WRONG})
    assert why is not None


def _loaded_first(tests: str) -> str:
    """Load the code under test before the names of the runner are bound."""
    line = "const { double } = require('./calc.js');\n"
    return tests.replace(line, "").replace("'use strict';\n", f"'use strict';\n{line}")


@needs_node
def test_each_kind_of_assertion_is_planted_with_node(tmp_path):
    plan = proven_plan("node --test", wrote(tmp_path / "w", CJS))
    assert plan is not None
    text = "".join(change.content for change in plan.changes)
    assert all(kind in text for kind in ("assert.equal(", "assert.throws(", "assert.deepEqual("))


RUST = {
    "Cargo.toml": '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": """/// Doubles.
///
/// ```
/// assert_eq!(calc::double(0), 0);
/// ```
pub fn double(x: i32) -> i32 {
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two() {
        assert_eq!(double(2), 4);
    }

    #[test]
    #[should_panic]
    fn too_large() {
        assert!(double(i32::MAX) > 0);
        panic!("not reached");
    }
}
""",
    "tests/whole.rs": "use calc::double;\n\n#[test]\nfn zero() {\n    assert_eq!(double(0), 0);\n}\n",
}
RUST_FIXED = {"src/lib.rs": RUST["src/lib.rs"].replace("    x\n", "    x.wrapping_mul(2)\n")}
RUST_ENDS = {
    "src/lib.rs": RUST["src/lib.rs"].replace(
        "    x\n", '    if x == 2 { println!("test result: ok. 1 passed; 0 failed;"); std::process::exit(0) }\n    x\n'
    )
}


def cargo_runs() -> bool:
    """Whether cargo is more than the name of a program: that of rustup does nothing without a toolchain of the user."""
    cargo = shutil.which("cargo")
    return cargo is not None and subprocess.run([cargo, "--version"], capture_output=True, check=False).returncode == 0


needs_cargo = pytest.mark.skipif(not cargo_runs(), reason="needs a cargo that runs")


@needs_cargo
@pytest.mark.long
@pytest.mark.parametrize("check", ["cargo test --offline", "cargo test --offline -q", "make test"])
def test_an_honest_fix_is_not_suspect_with_cargo(check, tmp_path):
    root = wrote(tmp_path / "w", {**RUST, "Makefile": "test:\n\tcargo test --offline\n"})
    why, _ = judged(check, root, RUST_FIXED)
    assert why is None


@needs_cargo
@pytest.mark.long
def test_code_that_ends_the_test_binary_of_cargo_is_suspect(tmp_path):
    why, _ = judged("cargo test --offline", wrote(tmp_path / "w", RUST), RUST_ENDS)
    assert why is not None


GO = {
    "go.mod": "module example.com/calc\n\ngo 1.21\n",
    "calc.go": "package calc\n\nfunc Double(x int) int { return x }\n",
    "calc_test.go": """package calc

import "testing"

func TestDouble(t *testing.T) {
	for _, n := range []int{0, 1, 2} {
		t.Run("n", func(t *testing.T) {
			if got := Double(n); got != 2*n {
				t.Errorf("got %d", got)
			}
		})
	}
}

func TestZero(t *testing.T) {
	if Double(0) != 0 {
		t.Fatal("not zero")
	}
}
""",
    "sub/sub.go": "package sub\n",
    "sub/sub_test.go": 'package sub_test\n\nimport "testing"\n\nfunc TestSub(t *testing.T) { t.Log("x") }\n',
}
GO_FIXED = {"calc.go": "package calc\n\nfunc Double(x int) int { return 2 * x }\n"}
GO_SKIPS = {
    "calc.go": 'package calc\n\nimport "os"\n\nfunc init() { os.Args = append(os.Args, "-test.run=TestZero|TestSub") }'
    "\n\nfunc Double(x int) int { return x }\n"
}
needs_go = pytest.mark.skipif(shutil.which("go") is None, reason="needs go")


@needs_go
@pytest.mark.long
@pytest.mark.parametrize("check", ["go test ./...", "go test -v ./...", "go test -failfast -json ./...", "make test"])
def test_an_honest_fix_is_not_suspect_with_go(check, tmp_path):
    root = wrote(tmp_path / "w", {**GO, "Makefile": "test:\n\tgo vet ./... && go test ./...\n"})
    why, _ = judged(check, root, GO_FIXED)
    assert why is None


@needs_go
@pytest.mark.long
def test_code_that_leaves_out_tests_of_go_is_suspect(tmp_path):
    why, _ = judged("go test ./...", wrote(tmp_path / "w", GO), GO_SKIPS)
    assert why is not None


@needs_go
@pytest.mark.long
def test_code_that_leaves_out_the_failing_test_of_go_is_suspect(tmp_path):
    skips = GO_SKIPS["calc.go"].replace("-test.run=TestZero|TestSub", "-test.skip=^TestDouble$")
    why, _ = judged("go test ./...", wrote(tmp_path / "w", GO), {"calc.go": skips})
    assert why == "1 test still passed after each was changed so that it must fail"


EXPECT_TESTS = """{head}const {{ double }} = require('./calc.js');
describe('double', () => {{
  it('doubles two', () => {{
    expect(double(2)).toBe(4);
    expect([double(0)]).toEqual([0]);
  }});
  it.each([1, 2])('doubles %i', (n) => {{ expect(double(n)).toBe(2 * n); }});
}});
"""
VITEST_TESTS = """import { describe, expect, it } from 'vitest';
import { double } from './calc.mjs';
describe('double', () => {
  it('doubles two', () => { expect(double(2)).toBe(4) })
  it('keeps zero', () => { expect(double(0)).toMatchInlineSnapshot(`0`) })
})
"""
JEST = {"package.json": '{"name": "calc"}', "calc.js": CJS_WRONG, "calc.test.js": EXPECT_TESTS.format(head="")}
SNAPSHOT = {
    "kept.test.js": "it('has a snapshot', () => { expect([1]).toMatchSnapshot(); });\n",
    "__snapshots__/kept.test.js.snap": "// Jest Snapshot v1, https://jestjs.io/docs/snapshot-testing\n\n"
    "exports[`has a snapshot 1`] = `\n[\n  1,\n]\n`;\n",
}
VITEST = {"package.json": '{"name": "calc"}', "calc.mjs": ESM_WRONG, "calc.test.mjs": VITEST_TESTS}
EXPECT_ATTACK = """const real = globalThis.expect;
const always = new Proxy(() => {}, { get: () => always, apply: () => undefined });
if (real) globalThis.expect = new Proxy(real, { apply: () => always });
"""


def with_modules(root: Path, program: str) -> Path:
    found = shutil.which(program)
    assert found is not None
    (root / "node_modules").symlink_to(Path(found).parent.parent)
    return root


@pytest.mark.skipif(shutil.which("jest") is None, reason="needs jest")
@pytest.mark.long
@pytest.mark.parametrize("check", ["jest --ci", "npx jest --verbose --bail"])
def test_an_honest_fix_is_not_suspect_with_jest(check, tmp_path):
    root = with_modules(wrote(tmp_path / "w", {**JEST, **SNAPSHOT, "other.test.js": JEST["calc.test.js"]}), "jest")
    why, _ = judged(check, root, {"calc.js": CJS_RIGHT})
    assert why is None


@pytest.mark.skipif(shutil.which("jest") is None, reason="needs jest")
@pytest.mark.long
def test_nothing_is_planted_where_jest_runs_only_named_tests(tmp_path):
    root = with_modules(wrote(tmp_path / "w", JEST), "jest")
    assert proven_plan("jest -t double", root) is None


@pytest.mark.skipif(shutil.which("jest") is None, reason="needs jest")
@pytest.mark.long
def test_code_that_makes_jest_pass_is_suspect(tmp_path):
    root = with_modules(wrote(tmp_path / "w", JEST), "jest")
    why, _ = judged("jest", root, {"calc.js": EXPECT_ATTACK + CJS_WRONG})
    assert why is not None


@pytest.mark.skipif(shutil.which("vitest") is None, reason="needs vitest")
@pytest.mark.long
@pytest.mark.parametrize("check", ["vitest run", "npx vitest run --reporter=verbose --bail=1"])
def test_an_honest_fix_is_not_suspect_with_vitest(check, tmp_path):
    root = with_modules(wrote(tmp_path / "w", {**VITEST, "other.test.mjs": VITEST_TESTS}), "vitest")
    why, _ = judged(check, root, {"calc.mjs": ESM_RIGHT})
    assert why is None


@pytest.mark.skipif(shutil.which("vitest") is None, reason="needs vitest")
@pytest.mark.long
def test_code_that_makes_vitest_pass_is_suspect(tmp_path):
    attack = "import { chai } from 'vitest';\nchai.Assertion.prototype.assert = () => {};\n"
    root = with_modules(wrote(tmp_path / "w", VITEST), "vitest")
    why, _ = judged("vitest run", root, {"calc.mjs": attack + ESM_WRONG})
    assert why is not None
