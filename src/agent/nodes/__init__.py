"""Define the nodes of the assistant `agent`, one file each, and the routes between them."""
