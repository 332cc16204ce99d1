"""Plain Python twins of statistics, written from the papers: what tests compare with."""
