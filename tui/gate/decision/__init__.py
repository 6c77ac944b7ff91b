"""What the user decides on a proposal, before it is sent. No textual in here."""
