"""What `scripts/docs` adds to the pages of `docs/`: pages that are made, and checks."""
