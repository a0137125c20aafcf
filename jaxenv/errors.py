"""Errors a user of the world can cause. Each message says what is wrong and what to do."""


class JaxenvError(ValueError):
    """Base of every error that `jaxenv` raises on purpose."""


class ConfigError(JaxenvError):
    """A config value is missing, of the wrong kind or out of its range."""


class InstanceError(JaxenvError):
    """A board or a plan is not well formed (a start in a hole, a ragged map, an unknown action)."""


class GenerationError(JaxenvError):
    """The boards asked for cannot be had within the bounded number of candidates."""
