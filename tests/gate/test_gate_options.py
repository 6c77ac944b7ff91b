"""Allow rules by prefix: what is not known to be harmless asks."""

from __future__ import annotations

import pytest
from gate.offered_rules import assert_offer_allows

from rundry.agent.shell.option_table_of_programs import harmless_rows, launcher_rows


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("uv -q run sh -c id", "uv"),
        ("uv -q run sh -c id", "uv -q run"),
        ("uv --config-file x run pytest", "uv --config-file x run pytest"),
        ("uv run --with evil pytest", "uv run --with evil pytest"),
        ("uv run python -c 'import os'", "uv run python"),
        ("uv run pytest -p evil", "uv run pytest"),
        ("uvx --from evil ruff", "uvx"),
        ("npm -s x evil", "npm"),
        ("npm --silent exec evil", "npm"),
        ("npm --unknown x evil", "npm"),
        ("npm --script-shell=./x test", "npm"),
        ("npx -p evil cmd", "npx"),
        ("docker -D run evil", "docker"),
        ("docker --context x ps", "docker"),
        ("docker run -v /:/x evil", "docker run -v /:/x evil"),
        ("podman exec x sh", "podman"),
        ("kubectl --kubeconfig x get pods", "kubectl"),
        ("kubectl exec pod -- sh", "kubectl"),
        ("coverage --rcfile=x run y.py", "coverage"),
        ("coverage run --rcfile=x y.py", "coverage run"),
        ("poetry -C /x run sh", "poetry"),
        ("python3 -m pytest -p evil", "python3"),
        ("python3 -m coverage run x.py --rcfile y", "python3 -m timeit"),
        ("gcc -B/x y.c", "gcc"),
        ("gcc -fplugin=./x y.c", "gcc"),
        ("gcc -Wl,-plugin,./x y.c", "gcc"),
        ("clang -fuse-ld=./x y.c", "clang"),
        ("jest --testEnvironment=./x", "jest"),
        ("jest --testEnvironment ./x", "jest"),
        ("jest --outputFile=.git/hooks/x --json", "jest"),
        ("npx jest --testEnvironment=./x", "npx jest"),
        ("go test -coverprofile=.git/hooks/x", "go test"),
        ("go test -coverprofile .git/hooks/x ./...", "go test"),
        ("go test -cpuprofile=x", "go test"),
        ("go test --exec ./x", "go test"),
        ("go generate ./...", "go"),
        ("git -p log", "git"),
        ("git --paginate log", "git"),
        ("git commit", "git commit"),
        ("git commit --amend", "git commit"),
        ("git commit -m x -e", "git commit"),
        ("git notes add", "git notes"),
        ("git branch --edit-description", "git branch"),
        ("git somealias", "git"),
        ("base64 -o P x", "base64"),
        ("base64 -oP x", "base64"),
        ("jq -L . 'import \"x\" as x; .' y", "jq"),
        ("jq -L. . y", "jq"),
        ("gh alias set z '!sh'", "gh"),
        ("gh extension install evil/x", "gh"),
        ("gh pr view --web", "gh"),
        ("gh z", "gh"),
        ("make -fx", "make"),
        ("make CC=./x", "make"),
        ("just a=b test", "just"),
        ("just --choose", "just"),
        ("tox -c x", "tox"),
        ("cargo test --config x", "cargo test"),
        ("cargo test --target=x.json", "cargo test"),
        ("cargo z", "cargo"),
        ("pytest --cov-report=html:.git/hooks", "pytest"),
        ("ruff check --output-file=P", "ruff"),
        ("mypy --html-report P x", "mypy"),
        ("xargs -a x pytest", "pytest"),
        ("nice --adjustment=5 pytest", "pytest"),
        ("timeout --signal=9 5 pytest", "pytest"),
        ("nix-shell --run x", "nix-shell"),
        ("direnv exec . x", "direnv"),
    ],
)
def test_an_option_or_a_command_that_is_not_known_to_be_harmless_asks(place, command, rule):
    given = place.judge_command(command, rule)
    assert given.action == "ask", given
    assert_offer_allows(place.judge_command, command, given, rule)


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("uv run pytest -q tests", "uv run pytest"),
        ("uv run --frozen pytest -x", "uv run --frozen pytest"),
        ("npm test", "npm"),
        ("npm run build --if-present", "npm run"),
        ("npx jest --coverage -t name", "npx jest"),
        ("pytest -q -x --lf -k 'a and b' tests/test_a.py::test_b", "pytest"),
        ("pytest --cov=src --cov-report=term-missing -n 2", "pytest"),
        ("python3 -m pytest -q", "python3 -m pytest"),
        ("ruff check --fix --select E,F src", "ruff"),
        ("mypy --strict src", "mypy"),
        ("go test -race -run TestX ./...", "go test"),
        ("go build ./...", "go build"),
        ("cargo test --workspace -- --nocapture", "cargo test"),
        ("cargo clippy --all-targets -- -D warnings", "cargo clippy"),
        ("make -j4 test", "make"),
        ("gcc -Wall -O2 -std=c11 -Iinclude -c x.c", "gcc"),
        ("jq -r '.a[]' x.json", "jq"),
        ("base64 -d x", "base64"),
        ("git commit -am x", "git commit"),
        ("git --no-pager log -p -3", "git --no-pager log"),
        ("git log --oneline -5", "git"),
        ("git add -A", "git add"),
        ("gh pr view 3 --json title", "gh pr view"),
        ("docker ps -a", "docker ps"),
        ("tox -e py312", "tox"),
        ("jest --ci --runInBand", "jest"),
        ("coverage run -m pytest", "coverage run -m pytest"),
    ],
)
def test_daily_use_of_known_programs_passes_its_rule(place, command, rule):
    given = place.judge_command(command, rule)
    assert given.action == "allow", given


def test_each_row_of_the_option_tables_has_a_source():
    rows = [*harmless_rows().values(), *(row for rows in launcher_rows().values() for row in rows)]
    assert len(rows) > 50
    for row in rows:
        assert row.programs and row.source and all(row.source), row
