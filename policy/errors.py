"""Errors a user of the policy can cause. Each message says what is wrong and what to do."""


class PolicyError(ValueError):
    """Base of every error that `policy` raises on purpose."""


class AnswerError(PolicyError):
    """An answer cannot be read as a plan, or can be read in more than one way; the message is the reason."""


class TruncatedAnswerError(AnswerError):
    """An answer ends before its plan begins, inside the thinking."""


class AgentMismatchError(AnswerError):
    """An answer speaks of other agents than the board has."""


class StyleError(PolicyError):
    """A prompt style that does not exist."""


class RewardError(PolicyError):
    """A reward setting breaks a promise of the reward, or a column of it is malformed."""


class EndpointError(PolicyError):
    """A served model gave no answer in one try."""

    def __init__(self, message: str, *, passing: bool = False, wait: float = 0.0) -> None:
        """`passing` says that another try may succeed, `wait` how many seconds the server asks to be left alone."""
        super().__init__(message)
        self.passing, self.wait = passing, wait


class BudgetError(PolicyError):
    """A request could cost more than the budget has left."""


class SolverFaultError(PolicyError):
    """The verifier found a valid plan that the solver's label rules out: the label is wrong, so nothing may go on."""
