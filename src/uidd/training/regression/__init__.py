"""Least squares of increments and residuals: where a fit starts, and what it leaves."""
