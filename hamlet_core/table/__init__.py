"""Events in: from Arrow tables with a schema to a sorted stream of typed columns."""
