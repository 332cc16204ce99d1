"""Rankings beside rankings: how alike they are, without judgments."""
