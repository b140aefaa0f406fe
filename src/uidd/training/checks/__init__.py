"""What a fit assumes, asked of the data."""
