"""What a user would write without dse, and equations of other tools typed anew."""
