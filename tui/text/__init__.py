"""Foreign text made safe, widths of characters, wrapping, standard streams."""
