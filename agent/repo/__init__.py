"""Git as rundry reads and writes it: state of a repository, checkouts, snapshots of older versions."""
