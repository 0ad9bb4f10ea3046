"""The stock of the shop: its tables, books and accounts, and their return to the initial state."""
