"""Names for content: canonical JSON, digests of files and trees, and a cache that saves reading what did not change."""
