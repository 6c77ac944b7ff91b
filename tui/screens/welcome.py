"""What stands in the middle before a run began."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from ..head.title import model_name
from ..run.link import Start
from ..run_controller import RunController
from ..text import one_line


class Welcome(Widget):
    """What is set up, in a few lines; without a model: what was looked for and the line that mends it."""

    DEFAULT_CSS = """
    Welcome { height: 1fr; padding: 1 4; }
    """

    def __init__(self, controller: RunController) -> None:
        super().__init__()
        self._controller = controller
        self._found: list[str] | None = None
        self._drawn = (False, False)

    def on_mount(self) -> None:
        """Without a model, look around for one."""
        start = self._controller.start
        if start is not None and start.model is None and not self._controller.begun:
            self.run_worker(self._look_around(), exit_on_error=False)

    def show(self, *, wanted: bool) -> None:
        """Drawn again where what it says no longer holds. `wanted`: nothing else stands in the middle."""
        self.display = wanted
        now = (self._controller.begun, self._controller.status.is_gone)
        if wanted and now != self._drawn:
            self._drawn = now
            self.refresh()

    async def _look_around(self) -> None:
        start = self._controller.start
        if start is not None:
            self._found = await start.look_around()
            self.refresh()

    def render(self) -> Content:
        """The lines."""
        start = self._controller.start
        if start is None:
            return Content("")
        rows = [Content.styled(one_line(note), "$verdict-partly") for note in start.notes]
        if self._controller.status.is_gone:
            rows.append(Content.styled(f"the runner failed to start: {_log(start)}", "$dim"))
        elif self._controller.begun:
            rows.append(Content.styled("the runner is starting; what you type is kept", "$dim"))
        elif start.model is None:
            rows += self._no_model()
        else:
            rows.append(_fact("model", model_name(start.model.name)))
            rows.append(_fact("folder", str(start.workspace)))
            rows += [Content(""), Content.styled("Type a task and press Enter. ? shows the keys.", "$dim")]
        return Content("\n").join(rows)

    def _no_model(self) -> list[Content]:
        rows = [Content.styled("No model is set up.", "bold $bright"), Content("")]
        if self._found is None:
            return [*rows, Content.styled("looking for keys and local servers …", "$dim")]
        rows += [Content(one_line(line)) for line in self._found]
        return [
            *rows,
            Content(""),
            Content.assemble(("/model NAME", "bold $needs-you"), "   takes one; "),
            Content.assemble(("/demo", "bold $needs-you"), "         runs a scripted model; needs no key"),
        ]


def _log(start: Start) -> str:
    return one_line(str(start.folder / "runner.log"))


def _fact(name: str, value: str) -> Content:
    return Content.assemble((name.ljust(8), "$dim"), one_line(value))
