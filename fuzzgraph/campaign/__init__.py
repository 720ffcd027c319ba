"""A long run: make programs, execute them, keep what is new, report what fails."""
