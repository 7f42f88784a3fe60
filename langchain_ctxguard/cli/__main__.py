"""`python -m langchain_ctxguard.cli` is `ctxguard`."""

from langchain_ctxguard.cli import main

main()
