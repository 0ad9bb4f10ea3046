"""The pages: each module serves one area of the shop and passes data to templates."""
