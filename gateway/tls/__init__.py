"""Customers' TLS connections: handshakes, the gate that admits connections, and the CPU manager's
client.
"""
