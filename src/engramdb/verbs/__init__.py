"""What the surfaces share."""
