"""What the pipeline stands on: Java, the Delta JARs, the Spark session, the warehouse and the environments."""
