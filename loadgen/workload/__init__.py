"""The workload model: arrivals, walks, lengths and patience of customers."""
