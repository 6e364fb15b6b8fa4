"""What each command of ``hetsim`` does: a function each, put together in ``__main__``."""
