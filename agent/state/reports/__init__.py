"""Read journals for lists of runs, reports, waiting proposals, hand-off records and exports. Writes no journal."""
