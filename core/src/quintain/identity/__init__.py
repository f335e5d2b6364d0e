"""What things are, as digests: canonical data, files and trees."""
