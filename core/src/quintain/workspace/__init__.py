"""The files of a trial: staged, collected, kept, looked at, and removed."""
