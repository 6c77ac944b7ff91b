"""Store the events and commands of a run: each is written once, with keys hidden, and can be read by any process."""
