"""The connections to customers and to the shop: reading, forwarding and answering HTTP/1.1."""
