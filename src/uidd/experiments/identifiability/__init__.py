"""Do models of the same data agree? Ours and others."""
