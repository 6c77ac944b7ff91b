"""Every attack of the list has a test: a marker or an id in this folder, or a test elsewhere that is named here."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
NUMBERS = (
    [f"A.{n}" for n in range(1, 33)]
    + [f"4.{n}" for n in range(1, 28)]
    + ["7.11", "7.12", "7.13", "7.14", "7.15", "7.16", "7.18", "7.20", "7.21", "7.22"]
    + [f"8.{n}" for n in range(1, 9)]
)
HELD: dict[str, dict[str, str]] = {
    "gate/test_gate_commands.py": {
        "A.1": "test_an_allowed_echo_allows_nothing_else",
        "A.3": "test_what_can_run_or_write_more_asks_whatever_rule_there_is",
        "A.6": "test_git_is_not_automatic_where_the_repository_runs_code",
    },
    "gate/test_gate_modes.py": {
        "A.8": "test_a_command_that_surely_writes_a_protected_file_asks_in_every_mode",
    },
    "host/test_workspace_paths.py": {
        "A.2": "test_a_neighbour_whose_name_begins_like_the_workspace_is_outside",
        "A.25": "test_gits_own_files_and_secrets_are_refused_however_they_are_written",
    },
    "tools/test_tools_command.py": {
        "A.7": "test_no_state_is_kept_between_commands",
        "7.16": "test_control_sequences_and_redrawn_lines_do_not_reach_the_model",
    },
    "sandbox/test_sandbox.py": {
        "A.9": "test_a_config_that_a_command_makes_stays_and_is_named",
        "7.11": "test_processes_outside_are_not_seen_and_none_survives",
        "7.21": "test_a_command_writes_in_the_workspace_and_the_temp_folder_and_nowhere_else",
        "7.22": "test_a_bubblewrap_that_does_not_work_is_not_taken_and_its_own_words_are_given",
    },
    "host/files/test_workspace_files.py": {
        "A.10": "test_reading_beneath_the_workspace_follows_no_link_that_was_put_there_later",
    },
    "host/files/test_workspace_races.py": {
        "A.31": "test_a_full_disk_leaves_the_old_file_and_nothing_next_to_it",
    },
    "tools/test_tools_parse.py": {
        "A.11": "test_a_model_cannot_set_where_or_how_freely_a_command_runs",
        "A.15": "test_a_model_cannot_set_where_or_how_freely_a_command_runs",
    },
    "settings/test_trust.py": {
        "A.14": "test_trust_holds_until_a_file_changes_and_after_it_is_back",
    },
    "tui/gate/test_gate_keys.py": {
        "A.17": "test_hidden_signs_of_a_command_are_marks_and_nothing_is_cut",
        "A.19": "test_neither_enter_nor_a_paste_nor_a_click_decides",
    },
    "contract/terminal/test_typing_on_screen.py": {
        "A.18": "test_keys_typed_before_a_proposal_was_painted_never_approve_it",
    },
    "journal/test_redacted_events.py": {
        "A.20": "test_paths_and_commands_at_the_gate_are_shown_as_they_are_but_for_known_keys",
    },
    "journal/test_redaction.py": {
        "8.2": "test_a_key_that_comes_letter_by_letter_is_never_shown",
    },
    "host/processes/test_workspace_processes.py": {
        "A.26": "test_start_up_files_of_the_shell_are_not_read",
        "7.14": "test_nothing_waits_for_an_answer_that_nobody_can_give",
        "7.18": "test_a_server_left_in_the_background_with_the_pipe_open_does_not_hold_the_command",
        "7.20": "test_what_cannot_start_is_reported_in_a_line",
    },
    "host/processes/test_processes_ended.py": {
        "7.12": "test_a_cancelled_command_leaves_nothing",
        "7.13": "test_a_command_that_forks_on_and_on_is_ended",
        "7.15": "test_endless_output_is_bounded_and_the_loop_stays_awake",
    },
    "tools/test_tools_edit.py": {
        "A.28": "test_every_byte_outside_of_the_block_stays",
        "A.30": "test_instructions_in_a_file_are_text_and_nothing_is_written_without_a_decision",
    },
    "gate/conflicts/test_gate_meanwhile.py": {
        "A.29": "test_what_is_decided_is_what_was_shown_in_a_thousand_interleavings",
    },
    "tui/diff/test_diff_pane.py": {
        "A.32": "test_a_diff_of_very_many_hunks_scrolls_to_its_end",
    },
}


def test_every_attack_has_a_test() -> None:
    here = {number for path in Path(__file__).parent.glob("*.py") for number in _numbers(path)}
    elsewhere = {number for tests in HELD.values() for number in tests}
    assert [number for number in NUMBERS if number not in here | elsewhere] == []


def test_the_tests_that_are_named_exist() -> None:
    for name, tests in HELD.items():
        tree = ast.parse((TESTS / name).read_text(encoding="utf-8"))
        found = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert set(tests.values()) - found == set(), name


def test_the_page_on_security_names_tests_that_exist() -> None:
    text = (TESTS.parent / "docs" / "security.md").read_text(encoding="utf-8")
    named = re.findall(r"`tests/([\w/]+\.py)(?:::(\w+))?`", text)
    assert len(named) > 20
    for name, test in named:
        tree = ast.parse((TESTS / name).read_text(encoding="utf-8"))
        found = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert not test or test in found, f"{name}::{test}"


def test_every_claim_of_the_page_on_security_names_a_test() -> None:
    text = (TESTS.parent / "docs" / "security.md").read_text(encoding="utf-8")
    protected = text.partition("## What is protected")[2].partition("\n## ")[0]
    claims = re.split(r"\n(?=\*\*)", protected)[1:]
    assert len(claims) > 10
    assert [claim for claim in claims if "`tests/" not in claim] == []


def _numbers(path: Path) -> set[str]:
    """The numbers in the markers, ids and tables of a file."""
    if path == Path(__file__):
        return set()
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            match = re.fullmatch(r"(A\.\d+|[478]\.\d+)(-[\w-]+)?", node.value)
            found |= {match[1]} if match else set()
    return found
