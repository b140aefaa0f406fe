"""How coefficients and weights move: Gauss-Newton steps with priors, and Adam."""
