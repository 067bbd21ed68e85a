"""The store on MongoDB, through Motor or PyMongo's own async driver."""
