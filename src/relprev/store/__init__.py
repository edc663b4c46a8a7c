"""Keep what is finished: whole files, digests, versions and stages."""
