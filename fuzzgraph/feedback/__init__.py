"""What is new about an execution: features, their ids, and how rare each is."""
