"""Plain Python twins of statistics, written from the papers, for tests to compare."""
