"""Executing programs in processes of their own: messages, worker pool, type inference."""
