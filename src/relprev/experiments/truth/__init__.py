"""Estimates on real data whose truth is known: people examined, and species surveyed."""
