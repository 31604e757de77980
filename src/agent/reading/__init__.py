"""Read pages: addresses checked, bytes bounded, text taken out."""
