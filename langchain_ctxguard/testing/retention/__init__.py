"""The retention kit: a case says what was agreed and what is dangerous; a run through a real agent shows whether it survived compaction.

case.py       what a case holds, and how it is read
replay.py     the model and the tools that play a conversation back
ways.py       the ways to compact: ours, LangChain's, deepagents', langmem's, a function of yours
run.py        one case through one way
findings.py   what differs from what the case expects, and where it was lost
files.py      case files, and the cases that ship
"""
