"""Access to the machine around a run: paths, files, processes, snapshots, file watching, the sandbox, the clock."""
