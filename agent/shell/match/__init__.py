"""Match deny and ask rules against commands, including commands with unknown words."""
