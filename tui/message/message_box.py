"""The message box: Enter sends, ctrl+j inserts a line, Up recalls earlier messages."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rich.text import Text
from textual import events
from textual.app import App
from textual.message import Message
from textual.widgets import TextArea

from rundry.agent import RundryError, temp_folder

from ..keys.joined_keys import do_bound
from ..keys.screen_keymap import keymap_of
from ..text.show_text import bare, in_place
from .clipboard_image import write_clipboard_image
from .completion import Completion, complete
from .history_search import search_history
from .message_history import History, kept_history
from .pastes import Pastes
from .workspace_files import list_files

if TYPE_CHECKING:
    from ..control.run_controller import RunController
    from .attached_line import Attachments
    from .suggestions import Suggestions

_MOST_DROPPED = 40
"""Number of paths of one paste that are examined."""


class MessageBox(TextArea):
    """A text area whose text is sent with Enter."""

    DEFAULT_CSS = """
    MessageBox {
        height: auto; max-height: 8; min-height: 1; width: 1fr;
        border: none; padding: 0; background: transparent;
        &:focus { border: none; background: transparent; }
        & .text-area--cursor-line { background: transparent; }
        & .text-area--placeholder { color: $dim; }
    }
    """

    class Sent(Message):
        """The person sent this text; `steer`: it interrupts the step."""

        def __init__(self, text: str, steer: bool, typed: str) -> None:
            super().__init__()
            self.text = text
            self.steer = steer
            self.typed = typed
            """The text without folded pastes: only here an `@` attaches an image, which was shown to the person."""

    class QueueAsked(Message):
        """The person pressed Up in an empty box to edit a queued message."""

    class HelpAsked(Message):
        """The person pressed `?` in an empty box."""

    class LeaveAsked(Message):
        """The person pressed Ctrl+D in an empty box: the end of the input, as in a shell."""

    class Marked(Message):
        """The person pressed a key of a list in an empty box while the screen offers choices."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    class Scrolled(Message):
        """The person pressed a key that has no use in a short box, and scrolls what is above it."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    class Told(Message):
        """The box has a notice for the person."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Keyed(Message):
        """A key reached the box at `at`, in the time of textual's events."""

        def __init__(self, at: float) -> None:
            super().__init__()
            self.at = at

    def __init__(
        self,
        suggestions: Suggestions,
        attachments: Attachments,
        controller: RunController,
        keys: Mapping[str, str],
    ) -> None:
        """`keys`: key to the name of its action."""
        super().__init__(id="message", soft_wrap=True, tab_behavior="focus", show_line_numbers=False, compact=True)
        self.cursor_blink = False
        self.highlight_cursor_line = False
        self.recalled = History(kept_history(controller))
        self.pastes = Pastes()
        self._ignores_keys_until = float("-inf")
        """Keys that were pressed before this time are ignored: they were for a gate that closed meanwhile."""
        self.offers_choices = False
        """The first screen is shown, and keys of the empty box move its mark."""
        self._acts = not controller.is_read_only
        """A message reaches the run; else only what a read-only view can do is suggested."""
        self.has_queue = False
        """A message is queued that can be edited again."""
        self._keys = keys
        self._suggestions = suggestions
        self._attachments = attachments
        self._controller = controller
        self._draft_of_search: str | None = None
        """The text that was in the box before the earlier messages were searched, or None if they are not."""
        self._own_files, self._pasted_images = ExitStack(), 0
        self._files: Sequence[str] | None = None
        """The files of the workspace, or None if they are not listed yet."""

    def get_line(self, line_index: int) -> Text:
        """Return a line as it is drawn. A file's name or a recalled message may contain any characters."""
        return Text(in_place(self.document.get_line(line_index)), end="", no_wrap=True)

    def fill(self, text: str) -> None:
        """Replace the text, move the cursor to its end, and take the focus."""
        self.text = text
        self.move_cursor(self.document.end)
        self.screen.set_focus(self)

    def ignore_keys_until(self, time: float) -> None:
        """Ignore all keys that are pressed before this time, given as the time of textual's events."""
        self._ignores_keys_until = time

    def take_key(self, key: events.Key) -> None:
        """Handle a key that was pressed before the box had the focus. Esc was for what had it."""
        if key.key != "escape":
            self.post_message(events.Key(key.key, key.character))

    def send_or_continue(self) -> None:
        """Send the message; a backslash before the cursor at its end becomes a new line instead."""
        if self.text.endswith("\\") and self.cursor_location == self.document.end:
            self.action_delete_left()
            self.insert("\n")
        else:
            self.send(steer=False)

    def send(self, *, steer: bool) -> None:
        """Send the text of the box, with its pastes unfolded."""
        if self._draft_of_search is not None:
            self.insert_chosen()
            return
        typed = self.text
        text = self.pastes.unfold(typed).strip()
        if not text:
            return
        self.recalled.add(text)
        self.pastes.clear()
        self.text = ""
        self._suggestions.show(None)
        self.post_message(self.Sent(text, steer, typed))

    async def _on_key(self, event: events.Key) -> None:
        if event.time < self._ignores_keys_until:
            event.stop()
            event.prevent_default()
            return
        handled = self._search_key(event.key) or self._suggestion_key(event.key) or self._own_key(event)
        if handled:
            event.stop()
            event.prevent_default()
        else:
            await do_bound(self, event)
        at = event.time
        self.call_later(lambda: self.post_message(self.Keyed(at)))

    def _own_key(self, event: events.Key) -> bool:
        if self._marks(event):
            return True
        match self._keys.get(event.key):
            case "send":
                self.send_or_continue()
            case "newline":
                self.insert("\n")
            case "end_input" if not self.text:
                self.post_message(self.LeaveAsked())
            case "search_history":
                self.search_history()
            case "paste_image":
                self.run_worker(self._paste_image(), name="clipboard", exclusive=True)
            case "older_message" if self.has_queue and not self.text:
                self.post_message(self.QueueAsked())
            case "older_message" if self.cursor_location[0] == 0:
                self._recall(self.recalled.older(self.text))
            case "newer_message" if self.cursor_location[0] == self.document.line_count - 1:
                newer = self.recalled.newer()
                self._recall(newer)
                if newer is None and not self.text:
                    self.post_message(self.Scrolled("newer_message"))
            case ("page_above" | "page_below" | "first_entry" | "last_entry") as name:
                self.post_message(self.Scrolled(name))
            case _:
                return self._is_for_nothing(event)
        return True

    def _marks(self, event: events.Key) -> bool:
        """Pass a key of the empty box to the list of the first screen. Return False if it is not one of the list's."""
        name = keymap_of(self).action_of(event.key, "list") if self.offers_choices and not self.text else ""
        if not name or event.is_printable:
            return False
        self.post_message(self.Marked(name))
        return True

    def _is_for_nothing(self, event: events.Key) -> bool:
        if event.key == "question_mark" and not self.text:
            self.post_message(self.HelpAsked())
            return True
        return event.key == "tab"  # other keys move the focus: a slip never leaves the message

    def _search_key(self, key: str) -> bool:
        """Carry out a key of the search through earlier messages. Return False if it is none of its keys."""
        if self._draft_of_search is None:
            return False
        self.complete()  # keys in a burst arrive before the event about the changed text
        match keymap_of(self).action_of(key, "suggestions") or self._keys.get(key):
            case "suggestion_up":
                self._suggestions.move(-1)
            case "suggestion_down" | "search_history":
                self._suggestions.move(1)
            case "suggestion_close":
                self._end_search(self._draft_of_search)
            case "suggestion_take":
                self.insert_chosen()
            case _:
                return False
        return True

    def _suggestion_key(self, key: str) -> bool:
        if self._suggestions.completion is not None:
            self.complete()  # keys in a burst arrive before the event about the changed text
        chosen = self._suggestions.chosen
        completion = self._suggestions.completion
        if chosen is None or completion is None:
            return False
        match keymap_of(self).action_of(key, "suggestions"):
            case "suggestion_up":
                self._suggestions.move(-1)
            case "suggestion_down":
                self._suggestions.move(1)
            case "suggestion_close":
                self._suggestions.show(None)
            case "suggestion_take" if self._keys.get(key) == "send" and self._is_whole_text(completion):
                if not chosen.runs:
                    self.insert_chosen()
                else:
                    self.text = chosen.insert.strip()
                    self.send(steer=False)
            case "suggestion_take" if key == "enter" and self._typed(completion) == chosen.insert.strip():
                return False
            case "suggestion_take":
                self.insert_chosen()
            case _:
                return False
        return True

    def search_history(self) -> None:
        """Search the earlier messages by what is typed now; the text of the box returns if none is taken."""
        self._draft_of_search = self.text
        self.text = ""
        self.complete()

    def _end_search(self, text: str) -> None:
        self._draft_of_search = None
        self._suggestions.show(None)
        self.fill(text)

    def insert_chosen(self) -> None:
        """Replace the word that is being completed by the chosen suggestion."""
        chosen, completion = self._suggestions.chosen, self._suggestions.completion
        if chosen is not None and self._draft_of_search is not None:
            self._end_search(chosen.insert)
        elif chosen is not None and completion is not None:
            row, column = self.cursor_location
            self.replace(chosen.insert, (row, completion.start), (row, column))

    def _is_whole_text(self, completion: Completion) -> bool:
        """Return whether the text is only the name of a slash command, which is being completed."""
        return self.text.startswith("/") and self.text.strip() == self._typed(completion)

    def _typed(self, completion: Completion) -> str:
        row, column = self.cursor_location
        return self.document.get_line(row)[completion.start : column].strip()

    def _recall(self, text: str | None) -> None:
        if text is not None:
            self.fill(text)

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        if not event.text:  # what some terminals send for a clipboard that has only an image
            await self._paste_image()
            return
        pasted = bare(event.text)
        self.insert(self._pictures(pasted) or self.pastes.fold(pasted))

    async def _paste_image(self) -> None:
        """Attach the image of the clipboard; without one, paste what was copied in this terminal."""
        from rundry.agent import mention_of

        if self._attaches_from() is None:
            return
        self._pasted_images += 1
        path = Path(self._own_files.enter_context(temp_folder("paste"))) / f"clipboard-{self._pasted_images}.png"
        try:
            await asyncio.to_thread(write_clipboard_image, path)
        except RundryError as error:
            if cast("App[object]", self.app).clipboard:
                self.action_paste()
            else:
                self.post_message(self.Told(str(error)))
            return
        before = self.document.get_line(self.cursor_location[0])[: self.cursor_location[1]]
        gap = " " if before and not before[-1].isspace() else ""
        self.insert(f"{gap}{mention_of(str(path))} ")

    def on_unmount(self) -> None:
        """Remove the images that were pasted: those that were sent are in the journal."""
        self._own_files.close()

    def _pictures(self, pasted: str) -> str | None:
        """Return the pictures whose paths were pasted or dropped, as a message names them, or None for other text."""
        root = self._attaches_from()
        if root is None or not pasted.strip().startswith(("/", "~/", "'", '"', "file:")):
            return None
        from rundry.agent import dropped_paths, looks_like_picture, mention_of

        paths = dropped_paths(pasted)
        if not paths or len(paths) > _MOST_DROPPED or not all(map(looks_like_picture, paths)):
            return None
        names = [str(path.relative_to(root) if path.is_relative_to(root) else path) for path in paths]
        before = self.document.get_line(self.cursor_location[0])[: self.cursor_location[1]]
        gap = " " if before and not before[-1].isspace() else ""
        return gap + " ".join(map(mention_of, names)) + " "

    def _attaches_from(self) -> Path | None:
        """Return the folder at which relative paths of images start, or None if the text is not a message."""
        is_message = not self.text.startswith(("!", "/")) or self.text.startswith("//")
        if not is_message or self._controller.state.is_user_in_control:
            return None  # the text goes to no model
        return self._controller.root

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Look for completions of the changed text."""
        event.stop()
        self.complete()
        self._attachments.show_images(self.text, self._attaches_from())

    def complete(self) -> None:
        """Suggest completions, again when the files are known; while earlier messages are searched, those."""
        if self._draft_of_search is not None:
            title = keymap_of(self).named("earlier messages   {suggestion_take} takes one   {search_history} older")
            width = self.screen.size.width - 4
            self._suggestions.show(search_history(self.recalled.sent, self.text, width, title))
            return
        row, column = self.cursor_location
        before = self.document.get_line(row)[:column]
        files = self._workspace_files() if "@" in before and self._acts else ()
        own = self._controller.extensions.user_commands
        self._suggestions.show(complete(before, first_line=row == 0, files=files, acts=self._acts, user_commands=own))

    def _workspace_files(self) -> Sequence[str]:
        """Return the files known now; the first call starts to list them, and returns none."""
        if self._files is None:
            self._files = ()
            self.run_worker(self._list_files(), name="files", exit_on_error=False)
        return self._files

    async def _list_files(self) -> None:
        self._files = await asyncio.to_thread(list_files, self._controller.root)
        self.complete()
