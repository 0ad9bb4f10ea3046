"""The connections to customers and to the shop, which exchange HTTP/1.1 messages."""
