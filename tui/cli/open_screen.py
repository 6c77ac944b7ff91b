"""Open the screen from the command line: the first frame immediately, the runner in the background, then the app."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rundry.agent import quick_imports

from ..app.exit_report import report_crash, report_exit, report_review
from ..text.first_frame import FirstFrame, Typed, default_colors, take_early, write_to_terminal

if TYPE_CHECKING:
    from rundry.agent import ResumeChanges, RunnerProcess, Session, Settings

    from ..app.app import RundryApp
    from ..app.notify import Notifier
    from ..control.run_controller import RunController
    from ..control.view_result import ViewResult
    from ..start.new_run import Setup


def open_new(task: str | None, flags: Mapping[str, object]) -> int:
    """Open the screen of a new run. With a task it begins immediately. Return the exit code. Raises RundryError."""
    return _open_drafted(task or "", flags, lambda: (task, flags), "run")


def open_demo(flags: Mapping[str, object]) -> int:
    """Open the screen of the demo. Return the exit code. Raises RundryError."""

    def lay_out() -> tuple[str | None, Mapping[str, object]]:
        from ..start.new_run import demo_flags

        return demo_flags(flags)

    return _open_drafted("the demo", flags, lay_out, "demo")


def _open_drafted(
    title: str,
    flags: Mapping[str, object],
    options: Callable[[], tuple[str | None, Mapping[str, object]]],
    command: str,
    set_up: Callable[[Mapping[str, object]], Setup] | None = None,
) -> int:
    frame = _first_frame(title, flags, command)
    runner = None
    try:
        runner = _early_runner(frame, flags, starts=bool(title))
        from rundry.agent import Session

        task, flags = options()
        setup = (set_up or _set_up)(flags)
        setup.announce_defaults()
        session = Session.new(runner)
        try:
            if task:
                session.start_runner()
            controller = _draft(setup, session, task, frame)
        except BaseException:
            session.close()
            raise
    except BaseException:
        frame.abandon()
        if runner is not None:
            runner.close()
        raise
    result = _show(controller, frame, setup, flags)
    return _open_next(report_exit(controller, result, flags), result, flags)


def _early_runner(frame: FirstFrame, flags: Mapping[str, object], *, starts: bool) -> RunnerProcess:
    """Return a runner that starts with the first key, while the screen is still imported; `starts`: immediately."""
    from ..start.run_folders import folder_of

    with quick_imports():
        from rundry.agent import RunnerProcess

    runner = RunnerProcess(folder_of(flags) / "runner.log")
    if starts:
        runner.start_early()
    else:
        frame.when_typed(runner.start_early)
    return runner


def _open_next(code: int, result: ViewResult, flags: Mapping[str, object]) -> int:
    """Open the view that the person left for, if there is one. Return the exit code of the last view."""
    what, _, run = result.next.partition(" ")
    kept = {name: flags.get(name) for name in ("cwd", "runs_dir", "quiet", "plain")}
    match what:
        case "demo":
            return open_demo({"plain": flags.get("plain")})
        case "resume":
            return open_resumed(run, kept, hint=None)
        case "plan":
            return open_planning(run, kept)
        case "watch" | "child":
            return open_watched(run, kept, came_from_parent=what == "child")
        case _:
            return code


def open_prepared(setup: Setup, task: str, flags: Mapping[str, object], command: str) -> int:
    """Open the screen of a search or a fix run, which begins immediately. Return the exit code. Raises RundryError."""
    setup.spec(task)  # errors are reported before there is a screen
    return _open_drafted(task, flags, lambda: (task, flags), command, lambda _: setup)


def open_planning(chat_and_task: str, flags: Mapping[str, object]) -> int:
    """Open the screen of a run that makes a plan for a task of a chat. Return the exit code. Raises RundryError."""
    from ..start.planning import planning
    from ..start.resuming import find_own

    chat, _, task = chat_and_task.partition(" ")
    return open_prepared(planning(find_own(chat, flags), task, flags), task, flags, "run")


def _open_plan(path: Path, flags: Mapping[str, object], hint: str | None) -> int | None:
    """Open the run that carries out the plan accepted in this one, which begins unless it has. Raises RundryError.

    Returns its exit code, or None if no plan was accepted, or the hint asks for another one.
    """
    from ..start.planning import carrying_out, journal_of_plan

    following = journal_of_plan(path)
    if following is None or (hint is not None and not following.exists()):
        return None
    if following.exists():
        return open_resumed(str(following), flags, hint=hint)
    setup = carrying_out(path, flags)
    return open_prepared(setup, setup.ready.task, flags, "resume")


def open_resumed(
    ref: str | None, flags: Mapping[str, object], *, hint: str | None, decided: ResumeChanges | None = None
) -> int:
    """Open the screen of a run that is resumed. Return the exit code. Raises RundryError."""
    from ..control.asked_proposal import NOT_RECORDED
    from ..start.resuming import changes_from, find_own, with_decision

    path = find_own(ref, flags)
    if (code := _open_plan(path, flags, hint)) is not None:
        return code
    changes = with_decision(_with_images(changes_from(flags, hint, path), path), decided)
    _refuse_damage(path, changes)

    def attach() -> RunController:
        from rundry.agent import RunnerProcess, Session

        from ..control.run_controller import RunController

        session = Session.new(RunnerProcess(path.parent / "runner.log"))
        try:
            session.resume(path, changes)
        except BaseException:
            session.close()
            raise
        controller = RunController(session)
        controller.is_commanded = True
        return controller

    return _open(attach, flags, "resume", kept=NOT_RECORDED if decided is not None else "")


def _with_images(changes: ResumeChanges, path: Path) -> ResumeChanges:
    """Store the images that the hint names, before a runner looks for them. Raises RundryError."""
    if "@" not in (changes.hint or ""):
        return changes
    from rundry.agent import Journal

    from ..start.attach_images import with_hint_images

    journal = Journal.open(path)
    try:
        return with_hint_images(changes, journal)
    finally:
        journal.close()


def _refuse_damage(path: Path, changes: ResumeChanges) -> None:
    """Raise UserError if the person has to decide about damage first: there is no screen yet."""
    from rundry.agent import Journal, admit_damage

    journal = Journal.open(path)
    try:
        admit_damage(journal, changes)
    finally:
        journal.close()


def open_watched(ref: str | None, flags: Mapping[str, object], *, came_from_parent: bool = False) -> int:
    """Open the screen of a run that another process drives, or that ended. Return the exit code. Raises RundryError."""
    from ..start.resuming import find_any
    from ..start.run_folders import folder_of

    path = find_any(ref, flags)

    def attach() -> RunController:
        from rundry.agent import Session

        from ..control.run_controller import RunController

        controller = RunController(Session.attach(path))
        controller.came_from_parent = came_from_parent
        controller.journals = folder_of(flags)
        return controller

    return _open(attach, flags, "watch")


def open_review(path: Path, flags: Mapping[str, object]) -> int:
    """Open the screen on which a person decides on what a run staged. Return the exit code. Raises RundryError."""
    from ..start.new_run import Setup

    frame = _first_frame("", flags, "apply")
    try:
        from rundry.agent import Session

        from ..control.run_controller import RunController

        controller = RunController(Session.attach(path))
        controller.reviews = True
        setup = Setup({"cwd": flags.get("cwd"), "runs_dir": flags.get("runs_dir")}, headless=False, begins=False)
    except BaseException:
        frame.abandon()
        raise
    result = _show(controller, frame, setup, flags)
    controller.link.close()
    return report_review(controller, result)


def _open(attach: Callable[[], RunController], flags: Mapping[str, object], command: str, *, kept: str = "") -> int:
    """Open the screen and return the exit code. `kept`: what is unchanged if the run cannot continue."""
    from ..start.new_run import Setup

    frame = _first_frame("", flags, command)
    try:
        controller = attach()
        setup = Setup({"cwd": flags.get("cwd"), "runs_dir": flags.get("runs_dir")}, headless=False, begins=False)
    except BaseException:
        frame.abandon()
        raise
    result = _show(controller, frame, setup, flags)
    return _open_next(report_exit(controller, result, flags, kept=kept), result, flags)


def _first_frame(task: str, flags: Mapping[str, object], command: str) -> FirstFrame:
    from ..plain.is_plain import NoFrame, is_plain

    early = take_early()
    if is_plain(flags):
        if early is not None:
            early.abandon()
        frame = NoFrame()
        frame.open()
        return frame
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        from rundry.agent import UserError

        instead = "rundry export` or `rundry ctl" if command == "watch" else f"rundry {command} --headless"
        raise UserError(f"there is no terminal: use `{instead}`")
    # before textual is imported: echo while streaming takes 15 ms with it and 32 without
    os.environ.setdefault("TEXTUAL_FPS", "120")
    model = flags.get("model")
    title, right = " ".join(task.split()), str(model).rsplit("/", 1)[-1] if model else ""
    if not (title + right).isprintable():
        from ..text.show_text import one_line  # 3 ms that are hardly ever needed before the first frame

        title, right = one_line(title), one_line(right)
    frame = early or FirstFrame(default_colors())
    frame.name(title, right)
    if early is None:
        frame.open()
    return frame


def _set_up(flags: Mapping[str, object]) -> Setup:
    from ..start.new_run import Setup

    return Setup(flags, headless=False)


def _draft(setup: Setup, session: Session, task: str | None, frame: FirstFrame) -> RunController:
    from rundry.agent import refuse_missing_key

    from ..control.run_controller import RunController

    controller = RunController(session, setup)
    if task and setup.model is None:
        frame.typed.draft = task + frame.typed.draft
    elif task:
        assert setup.model is not None  # just checked
        refuse_missing_key(setup.model, os.environ)
        controller.begin(task, commanded=True)
    elif frame.typed.is_used:
        controller.expect_message()
    return controller


def _show(controller: RunController, frame: FirstFrame, setup: Setup, flags: Mapping[str, object]) -> ViewResult:
    from ..plain.is_plain import NoFrame

    if isinstance(frame, NoFrame):
        from ..plain.plain_session import PlainSession

        return PlainSession(controller).run()
    try:
        settings = setup.settings
        quiet = bool(flags.get("quiet")) or settings.notify == "none"
        app, notifier = _app(controller, settings, frame.typed, quiet=quiet)
        _begin_with_first(controller, frame.hand_over())
    except BaseException:
        frame.abandon()
        raise
    try:
        write_to_terminal(notifier.opening())
        result = app.run()
    finally:
        write_to_terminal(notifier.closing())
        frame.close()
    if app.crash:
        report_crash(app.crash, setup.folder / "view.log")
    from ..control.view_result import ViewResult

    return result if result is not None else ViewResult(failed=bool(app.crash))


def _app(controller: RunController, settings: Settings, typed: Typed, *, quiet: bool) -> tuple[RundryApp, Notifier]:
    from ..theme.colour_depth import prepare_textual

    depth = prepare_textual(os.environ)
    with quick_imports():
        from ..app.app import RundryApp
    from ..app.notify import Notifier
    from ..theme.user_themes import themes_folder

    notifier = Notifier(os.environ, quiet=quiet, hook=settings.hook)
    app = RundryApp(
        controller,
        theme=settings.theme,
        keys=settings.keys,
        typed=typed,
        notifier=notifier,
        depth=depth,
        themes=themes_folder(),
    )
    return app, notifier


def _begin_with_first(controller: RunController, typed: Typed) -> None:
    """Begin the run with a task that was sent before there is a screen: the runner works while the screen starts."""
    from rundry.agent import RundryError

    if controller.begun or controller.start is None or controller.start.model is None or not typed.sent:
        return
    task = typed.sent[0].strip()
    if task.startswith(("/", "!")):
        return
    try:
        controller.begin(task)
    except RundryError:
        return  # the message box sends it again, and shows why
    typed.begun_with = typed.sent.pop(0)
