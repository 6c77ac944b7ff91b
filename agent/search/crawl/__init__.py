"""The crawler: a worker that follows links within the hosts of its seeds."""
