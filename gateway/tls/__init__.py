"""Connections by TLS: handshakes, the gate that admits connections, the CPU manager's client."""
