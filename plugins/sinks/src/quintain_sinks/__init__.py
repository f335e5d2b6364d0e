"""Who is told what happens in a run."""
