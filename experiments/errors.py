"""Errors a user of the experiments can cause. Each message is one line that says what to do."""


class ExperimentError(ValueError):
    """Base of every error that `experiments` raises on purpose."""


class RecipeError(ExperimentError):
    """A recipe cannot be read, or a value in it is unknown or out of its range."""


class RunFolderError(ExperimentError):
    """A run folder is in use, not there, not empty, not writable, or lacks what is asked of it."""


class StepError(ExperimentError):
    """A step of a run failed; the message is the step's own, or says where its log is."""
