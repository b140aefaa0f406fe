"""The same system learned several times over from independent data."""
