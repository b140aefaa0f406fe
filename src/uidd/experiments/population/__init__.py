"""Systems that nobody chose, drawn by seeds."""
