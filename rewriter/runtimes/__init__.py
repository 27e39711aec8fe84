"""Runtimes: what each of them takes and computes wrongly, as data; and probes that find it out."""
