"""Options that several commands share."""

import argparse

from experiments.recipe import Recipe, load

DEFAULT = "starter"


def recipe_options(parser: argparse.ArgumentParser) -> None:
    """`--recipe` and `--set`."""
    parser.add_argument("--recipe", metavar="NAME|PATH", help=f"a shipped recipe or a YAML file (default: {DEFAULT})")
    parser.add_argument("--set", metavar="a.b=c", action="append", default=[], help="change one value; may be repeated")


def recipe_of(parsed: argparse.Namespace) -> Recipe:
    """The recipe that those name."""
    return load(parsed.recipe or DEFAULT, parsed.set)
