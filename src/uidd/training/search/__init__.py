"""From the linear start to the networks that the data call for."""
