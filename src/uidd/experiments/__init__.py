"""The paper's experiments, one a file, in sizes `quick` and `paper`."""
