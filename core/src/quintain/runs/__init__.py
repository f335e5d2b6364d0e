"""Many trials at once: planned, run, stored, summed up, found again and graded again."""
