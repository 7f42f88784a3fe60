"""Where the guard plugs into LangGraph and LangChain agents."""
