"""What the person decides on a proposal, before it is sent. Does not import textual."""
