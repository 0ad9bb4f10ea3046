"""The management of contracts: an HTTP API with its schemas, reports and check of permissions."""
