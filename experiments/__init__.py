"""Recipes, the driver, run folders, evaluation and reports: the loop turned into evidence.

Import the modules by their names; this package itself imports nothing, so that the driver stays light.
"""
