"""Campaigns: candidates against a baseline, under one budget and one identity, and the decision."""
