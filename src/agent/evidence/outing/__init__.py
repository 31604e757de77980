"""Plan an outing: what is wished for, stops in the best order, and the plan in words."""
