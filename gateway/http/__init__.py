"""Customers' connections and the shop's: reading, forwarding and answering HTTP/1.1."""
