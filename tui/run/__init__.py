"""What a view knows of one run: its link, its status and what the journal has of it."""
