"""Find what a check runs or reads besides the code under test: helpers by name, imports, and the settings of tools."""
