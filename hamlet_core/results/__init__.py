"""Results: rows and parts that can be added up, with what a run counted beside them."""
