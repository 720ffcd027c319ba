"""All oracles over code that people already have: Python files of a known form, and scripts that call torch.compile."""
