"""Operating-system functions: change notifications, programs, extras, safe file reading, host names, certificates."""
