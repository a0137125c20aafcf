"""A package of its own: w9-pathfinding 0.1.3 installs a top-level `tests`, which would hide a folder without this."""
