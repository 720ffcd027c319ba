"""Errors that end a command: one clear line (what, where, how to mend) and an exit status, never a traceback."""

from __future__ import annotations


class FuzzgraphError(Exception):
    """A failure that a user can understand and mend.

    `message` says what is wrong, `where` names the place (file:line:column, option, node), `hint` says how to
    mend it. The command line prints `fuzzgraph: where: message (hint)` on stderr and exits with `exit_status`.
    """

    exit_status = 2

    def __init__(self, message: str, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message, self.where, self.hint = message, where, hint

    def __str__(self) -> str:
        return f"{self.where}: {self.said}" if self.where else self.said

    @property
    def said(self) -> str:
        """What is wrong and how to mend it, for where the place is known."""
        return f"{self.message} ({self.hint})" if self.hint else self.message


class UsageError(FuzzgraphError):
    """A wrong option, a missing file, a directory that is in use."""


class ProgramError(FuzzgraphError):
    """A program that cannot be read or built: where says file, line, column and node."""


class RuleError(FuzzgraphError):
    """A rule file that cannot be read: where says file, line and column."""


class StoreError(FuzzgraphError):
    """A campaign directory that is damaged, locked or of another format version."""


class EnvironmentProblem(FuzzgraphError):
    """Something outside the user's input is missing: a compiler, a torch, disk space."""

    exit_status = 3
