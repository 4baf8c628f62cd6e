"""Let ``python -m unskew`` be the command line."""

from unskew.cli.main import run

if __name__ == "__main__":
    run()
