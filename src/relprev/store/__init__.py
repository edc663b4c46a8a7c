"""What is finished stays finished: whole files, digests, versions and kept stages."""
