"""Samplers with mini-batches: the paper's two studies."""
