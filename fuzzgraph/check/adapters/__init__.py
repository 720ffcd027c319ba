"""What is appended to a file, or put before a script, so that the harness can run it: one Python source a form.

They import torch only and run inside the process under test; the engine reads them as text and imports none of them.
"""
