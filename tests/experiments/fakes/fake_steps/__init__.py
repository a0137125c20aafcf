"""Steps that make small, seeded outputs of the right form in no time, for tests of the driver and the report."""
