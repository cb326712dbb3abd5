"""
What chat models are asked: one file per prompt, with its text, its version and its typed reply.

A prompt's `VERSION` changes with its text and is stored with what it produced. Whatever people said goes in
as JSON between marker lines (`quoted`), never as loose text, and replies are read by `replies`.
"""
