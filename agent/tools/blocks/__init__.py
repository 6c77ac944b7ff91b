"""How a replacement block fits a file: where it stands, and which lines go there."""
