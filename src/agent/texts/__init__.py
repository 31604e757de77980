"""The sentences that code says to a person, and what an error means to them."""
