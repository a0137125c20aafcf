"""Whole loops over a grid: each cell a run folder of its own, side by side in processes or on a Ray cluster."""
