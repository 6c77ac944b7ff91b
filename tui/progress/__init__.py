"""The line above the message box with the remaining sleep of the run, or with its scores."""
