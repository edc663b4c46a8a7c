"""Cohorts of a study: `building` and `keeping` them, `contrasts` of their groups, `notes`."""
