"""The management of contracts and publishers: an HTTP API, its schemas and reports, and the check
of tokens.
"""
