"""Pages for people, made of records: text in, text out."""
