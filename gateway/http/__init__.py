"""The connections to customers and to the shop, by which HTTP/1.1 requests are read, forwarded and
answered."""
