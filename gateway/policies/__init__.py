"""Overload policies as pure decisions.

Owns: what a policy is told, what it may answer, and every published policy.
Must not know: sockets, clocks, asyncio, threads, files, the shop, or anything else of this project.
Imports nothing but the standard library and its own siblings; a test walks the imports.
"""
