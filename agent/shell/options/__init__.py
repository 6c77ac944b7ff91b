"""Which options of programs are harmless, and where the command of a launcher begins."""
