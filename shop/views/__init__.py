"""The pages: each module owns one area of the shop and passes the data to templates."""
