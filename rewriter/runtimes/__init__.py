"""Runtimes: what each of them accepts and what it computes wrongly, as data, and probes that find this out."""
