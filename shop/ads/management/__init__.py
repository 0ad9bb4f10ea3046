"""The management of contracts: an HTTP API with its forms, reports and permission."""
