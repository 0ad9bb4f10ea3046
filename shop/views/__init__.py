"""The pages: each module owns one area of the shop and hands templates what they show."""
