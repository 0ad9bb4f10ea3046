"""Customers' TLS connections: handshakes, the gate, and the CPU manager's client."""
