"""Tables of votes on pairs: their layouts, their words, and the one reader of all."""
