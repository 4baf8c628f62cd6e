"""The live page: what a run does, for eyes, programs and Prometheus.

`model` turns events into what is shown and knows no network; `serving` carries it to browsers.
"""
