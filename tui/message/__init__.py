"""The message box, with its history, completions and folded pastes."""
