"""The files of a trial: staged, changed, collected, looked at, graded on a copy, and gone without a trace."""
