"""The records that everything else speaks in: frozen, typed, without I/O; `codec` turns them into plain data."""
