"""Check what this machine has for runs: folders, sandbox, keys and servers, programs. Does not import textual."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rundry.agent import (
    Fitness,
    HideRules,
    LeftFiles,
    LeftUnit,
    Sandbox,
    Settings,
    Survey,
    config_file,
    cost_of_copies,
    discover,
    expand_home,
    fitness_of,
    kept_files,
    left_copies,
    left_layers,
    left_units,
    plural,
    rule_problem,
    size_words,
    variables_left_out,
)

from ..text.show_text import one_line
from ..theme.user_themes import theme_mistakes
from .connected import Surroundings, surroundings_of
from .remaps import check_keys
from .survey import NO_MODEL, survey_lines

if TYPE_CHECKING:
    from .new_run import Setup


@dataclass(frozen=True, slots=True)
class Checkup:
    """The results of all checks."""

    places: Sequence[str]
    """The folder, the config file and the folder of journals, a line each."""
    sandbox: Sandbox
    layers: Fitness
    survey: Survey
    unseen: Sequence[str]
    """Variables of the environment that commands do not get."""
    left: Sequence[LeftUnit] = ()
    """What runs of the folder left apart from it, and what somebody decides on."""
    left_layers: LeftFiles | None = None
    """Layers of commands that are on the disk, or None if they were not looked at."""
    units: str = ""
    """How a stage and units of work are kept apart without layers, or empty if layers work."""
    copies: LeftFiles | None = None
    """Copies of the workspace that runs keep for their next units of work, or None if they were not looked at."""
    kept: LeftFiles | None = None
    """Files that are kept for an undo, or None if they were not looked at."""
    surroundings: Surroundings = field(default_factory=Surroundings)
    missing: Sequence[str] = ()
    """What is missing, each with its fix."""
    mistakes: Sequence[str] = ()
    """What is wrong with the config, its keys and themes."""
    notes: Sequence[str] = ()
    shown: Sequence[str] = ()
    """What commands can read of the home folder."""

    @property
    def problems(self) -> list[str]:
        """The notes, then what is missing or wrong."""
        return [*self.notes, *self.missing, *self.mistakes]

    @property
    def lines(self) -> list[str]:
        """What was found, a line each; a name, two or more spaces, a text."""
        lines = [*self.places, *_sandbox_lines(self.sandbox), *_layer_lines(self.layers)]
        lines += [f"units      {one_line(self.units)}"] if self.units else []
        lines += map(_left_line, self.left)
        if self.left_layers is not None and self.left_layers.folders:
            count, size = plural(len(self.left_layers.folders), "layer"), size_words(self.left_layers.size)
            lines.append(f"left       {count} of commands, {size}: rundry apply --drop-all deletes what nobody uses")
        if self.copies is not None and self.copies.folders:
            count, size = plural(len(self.copies.folders), "run"), size_words(self.copies.size)
            lines.append(f"copies     of {count}, {size}: rundry apply --drop-all deletes those of killed runs")
        if self.kept is not None and self.kept.files:
            size = size_words(self.kept.size)
            lines.append(f"kept       {plural(self.kept.files, 'replaced file')} for an undo, {size}, for 30 days")
        if self.shown:
            shown = ", ".join(self.shown)
            lines.append(
                f'home       hidden from commands except {one_line(shown)} ([sandbox] show = ["~/x"] adds one)'
            )
        if self.unseen:
            lines.append(f"variables  not passed to commands: {', '.join(self.unseen)} (--sandbox-env NAME passes one)")
        return [*lines, *survey_lines(self.survey), *self.surroundings.lines()]


def config_mistakes(settings: Settings) -> list[str]:
    """Return what is wrong with `[keys]`, the theme, the user's themes, and rules that can never apply."""
    keys, themes = map(str, check_keys(settings.keys)[1]), theme_mistakes(settings.theme, os.environ)
    return [*keys, *themes, *filter(None, map(rule_problem, settings.rules))]


async def check_up(setup: Setup) -> Checkup:
    """Return what is set up, and what is missing or wrong. Raises RundryError."""
    settings = setup.settings
    survey = await discover(os.environ)
    hosts = settings.texts("sandbox_host")
    hide_rules = HideRules(
        own=(setup.folder, config_file(os.environ).parent),
        hide=expand_home(settings.texts("sandbox_hide")),
        show=expand_home(settings.texts("sandbox_show")),
    )
    sandbox = await _probed(bool(settings["network"].value), setup.workspace, hosts, hide_rules)
    around = surroundings_of(setup)
    why_no_sandbox = "" if sandbox.kind else sandbox.why_none
    layers = await asyncio.to_thread(fitness_of, setup.workspace, setup.folder, why_no_sandbox=why_no_sandbox)
    return Checkup(
        places=[f"folder     {setup.workspace}", f"config     {config_file(os.environ)}", f"journals   {setup.folder}"],
        sandbox=sandbox,
        layers=layers,
        units="" if layers.place is not None else await asyncio.to_thread(_units, setup, sandbox),
        left=await asyncio.to_thread(left_units, setup.workspace, setup.folder),
        left_layers=await asyncio.to_thread(left_layers, setup.workspace, setup.folder),
        copies=await asyncio.to_thread(left_copies, setup.workspace, setup.folder),
        kept=await asyncio.to_thread(kept_files, setup.workspace, setup.folder),
        survey=survey,
        unseen=variables_left_out(os.environ, settings.texts("sandbox_env")),
        surroundings=around,
        missing=[*_missing(setup), *around.missing],
        mistakes=config_mistakes(settings),
        notes=[*setup.notes, *sandbox.notes, *sandbox.dependencies_note(setup.workspace)],
        shown=sandbox.shown_at_home(setup.workspace),
    )


async def _probed(network: bool, workspace: Path, hosts: Sequence[str], hide_rules: HideRules) -> Sandbox:
    """Return the sandbox of this machine, after attacking it now."""
    sandbox = await Sandbox.detect(hide_rules=hide_rules, network=network, hosts=hosts, workspace=workspace)
    await sandbox.probe(workspace, fresh=True)
    return sandbox


def _sandbox_lines(sandbox: Sandbox) -> list[str]:
    """Return the name of the sandbox, and the guarantees that it does not give."""
    if sandbox.kind is None:
        return [f"sandbox    {one_line(sandbox.why_none)}", "network    open: commands run unsandboxed"]
    why = f" ({one_line(sandbox.why_none)})" if sandbox.why_none else ""
    network = "open to commands and checks" if sandbox.network else "off for commands (--network turns it on)"
    if sandbox.hosts.entries and not sandbox.network:
        network = sandbox.open_egress() or f"off for commands, except {', '.join(sandbox.hosts.entries)}"
    lines = [f"sandbox    {sandbox.kind}{why}", f"network    {network}"]
    return lines + [f"not held   {line}" for line in sandbox.not_held]


def _layer_lines(layers: Fitness) -> list[str]:
    """Return whether layers work in the workspace; else the step that is refused, and what lifts that."""
    if layers.place is not None:
        return ["layers     work here"]
    lines = [f"layers     do not work here ({one_line(layers.step)}: {one_line(layers.why)})"]
    lifting = (layers.remedy.text, *layers.remedy.commands)
    return lines + [f"fix        {one_line(line)}" for line in lifting if line]


def _units(setup: Setup, sandbox: Sandbox) -> str:
    """Return how a stage and units of work are kept apart without layers, and what that takes."""
    try:
        cost = cost_of_copies(setup.workspace, setup.folder)
    except OSError as error:
        return f"passes, tries and items of a migration need copies of this folder, which cannot be made: {error}"
    who = "a stage, passes, tries" if sandbox.kind else "passes, tries"
    return f"copies of this folder ({cost}): {who}, items of a migration, views of the judge"


def _left_line(unit: LeftUnit) -> str:
    """Return what a run left apart from the workspace, its size, and what decides on it."""
    what = f"{plural(unit.files, 'file')}, {size_words(unit.size)}"
    if not unit.is_whole:
        return f"left       a lost {unit.kind} of run {unit.run}, {what}: rundry apply --drop-all deletes it"
    if unit.kind != "stage":
        return f"left       a {unit.kind} of run {unit.run}, {what}: rundry resume {unit.run} continues it"
    return f"staged     by run {unit.run}, {what}: rundry apply {unit.run} shows it, with --drop it is deleted"


def _missing(setup: Setup) -> list[str]:
    missing: list[str] = []
    if setup.model is None:
        missing.append(NO_MODEL)
    if shutil.which("git") is None:
        missing.append("git is not installed: changes made by commands cannot be undone")
    return missing
