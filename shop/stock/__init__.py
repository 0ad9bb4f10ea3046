"""The stock of the shop: its tables, books and accounts, and their reset to the initial state."""
