"""Errors a user of the engineer can cause. Each message says what is wrong and what to do."""


class EngineerError(ValueError):
    """Base of every error that `engineer` raises on purpose."""


class ContextError(EngineerError):
    """The prompt cannot be built as asked."""


class UnknownEngineerError(EngineerError):
    """There is no engineer of that name, or it lacks something it needs."""


class AskError(EngineerError):
    """A model could not be asked or gave no answer: the conversation counts it as a refused reply and goes on."""
