"""What opens above the main screen: pickers, dialogs, replay, stage, hand-off."""
