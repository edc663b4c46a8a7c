"""Work spread over threads, over processes, or over a Dask cluster."""
