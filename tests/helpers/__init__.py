"""What several tests need: drawn input, small tables, drivers of kernels."""
