"""Where Sessions, archive, notes and the inbox are kept: MongoDB through either driver, or
memory.
"""
