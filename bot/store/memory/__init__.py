"""The store in memory: every port of persistence, for tests; gone with the process.

It keeps the very documents MongoDB would keep and hands out fresh entities, so nothing is shared
with a caller and what a save changes (milliseconds, unpaired surrogates) is changed here, too. Each
method runs without an await, hence is atomic; how replicas race is therefore proven on a real
mongod only.
"""
