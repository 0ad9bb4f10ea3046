"""The stock of the shop: its tables, books and accounts, and the removal of orders."""
