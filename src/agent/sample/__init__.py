"""The sample mode: what answers where no key is set, over a bundled corpus."""
