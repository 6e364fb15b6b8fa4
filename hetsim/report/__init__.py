"""Tables and plots for people, made from results."""
