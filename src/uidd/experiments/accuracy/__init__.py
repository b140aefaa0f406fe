"""Systems whose answer is known, against bars that were written down before."""
