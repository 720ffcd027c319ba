"""Programs from elsewhere: scripts that call torch.compile, exported programs, minifier repros, op_db's samples.

`sources` runs what there is in harness processes, which record FX graphs; `convert` makes programs of those, `targets`
finds the rules that their calls are.
"""
