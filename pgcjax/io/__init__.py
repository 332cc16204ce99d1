"""Files and DataFrames in, canonical validated DataFrames out. No JAX."""
