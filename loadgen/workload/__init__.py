"""The workload model: the arrivals, walks, session lengths and patience of customers."""
