"""What plugins implement, one module a kind. This is the whole agreement between the core and a plugin author."""
