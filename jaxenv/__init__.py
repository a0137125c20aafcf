"""The world: boards of multi-agent FrozenLake made to order, solved with a certificate, and a verifier of plans.

Names are imported on first use, so that `import jaxenv` stays light and touches no device.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jaxenv.benchmarks import benchmark
    from jaxenv.build import make_instances, make_plans
    from jaxenv.config import EnvConfig
    from jaxenv.dataset import Dataset
    from jaxenv.draw import draw_board, draw_plan
    from jaxenv.errors import ConfigError, GenerationError, InstanceError, JaxenvError
    from jaxenv.generate import generate
    from jaxenv.solve import solve
    from jaxenv.streaming import generate_to
    from jaxenv.svg import draw_svg
    from jaxenv.types import Action, Instances, Label, Limits, Plans, Solutions, Status, Verdicts
    from jaxenv.verify import verify

_HOMES = {
    "Action": "types",
    "ConfigError": "errors",
    "Dataset": "dataset",
    "EnvConfig": "config",
    "GenerationError": "errors",
    "InstanceError": "errors",
    "Instances": "types",
    "JaxenvError": "errors",
    "Label": "types",
    "Limits": "types",
    "Plans": "types",
    "Solutions": "types",
    "Status": "types",
    "Verdicts": "types",
    "benchmark": "benchmarks",
    "draw_board": "draw",
    "draw_plan": "draw",
    "draw_svg": "svg",
    "generate": "generate",
    "generate_to": "streaming",
    "make_instances": "build",
    "make_plans": "build",
    "solve": "solve",
    "verify": "verify",
}

__all__ = [
    "Action",
    "ConfigError",
    "Dataset",
    "EnvConfig",
    "GenerationError",
    "InstanceError",
    "Instances",
    "JaxenvError",
    "Label",
    "Limits",
    "Plans",
    "Solutions",
    "Status",
    "Verdicts",
    "benchmark",
    "draw_board",
    "draw_plan",
    "draw_svg",
    "generate",
    "generate_to",
    "make_instances",
    "make_plans",
    "solve",
    "verify",
]


class _Package(ModuleType):
    """Importing a submodule binds it on its package, which would hide the function of the same name (`verify`)."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
