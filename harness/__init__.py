"""All that runs inside the process under test. Imported as `fuzzgraph.harness`; the engine only starts it."""
