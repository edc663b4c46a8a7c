"""The command line. Every command is a thin layer over a function of the package."""

from relprev.cli import atlas, estimate, plan, study, tools
from relprev.cli.app import app, main

__all__ = ["app", "atlas", "estimate", "main", "plan", "study", "tools"]
