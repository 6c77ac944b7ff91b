"""Work items on the workers of a Dask cluster (docs/decisions/0024-items-on-a-dask-cluster.md)."""
