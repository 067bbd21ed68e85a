"""The Messages API, as far as a client can see it: strict, streaming, failing on demand, with a
small rule-based model.
"""
