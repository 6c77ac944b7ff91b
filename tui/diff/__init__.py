"""Changes of a file: compared, highlighted, and shown in a pane of which only what is in sight is drawn."""
