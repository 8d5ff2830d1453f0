"""Results as people and programs want them: tables for a terminal, JSON, CSV and Parquet for the rest."""
