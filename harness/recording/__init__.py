"""Recording the FX graphs that Dynamo captures, in the process that runs them, for `fuzzgraph import`.

`site/sitecustomize.py` gets into a user's Python; `hook` redirects torch.compile there; `graph` records one graph;
`files` and `samples` run what there is to record in exported programs, repros and op_db.
"""
