"""D-Choices and W-Choices: hot keys on several workers, all other keys on one of two."""
