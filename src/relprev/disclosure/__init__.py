"""What may leave a study: counts of few people, and what would reveal them, are hidden."""
