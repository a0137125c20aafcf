"""A regular package: a dependency (w9-pathfinding 0.1.3) installs a top-level `tests` that would hide one without this file."""
