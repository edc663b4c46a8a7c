"""``python -m relprev``: the command line without its script on the path."""

from relprev.cli import main

if __name__ == "__main__":
    main()
