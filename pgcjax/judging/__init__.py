"""What is known of judgments and judges: votes, agreement, transitivity, strength."""
