"""Collection of judgments: pairs to ask for, and inference from the answers."""
