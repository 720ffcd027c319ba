"""The `llm` mutator: asks an OpenAI-compatible server for variants of an entry; off unless configured.

`config.LLMConfig.from_environment()` says whether and how; `proposer.Proposer` is what a campaign talks to.
Nothing here waits for the server on the campaign's side, and nothing that a model writes is executed by the
engine.
"""
