"""What other packages of the field take for their own; each needs its package."""
