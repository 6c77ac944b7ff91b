"""Tables of the border that foreign text crosses (`tui.text`)."""
