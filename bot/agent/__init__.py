"""The agent: model ⇄ tools, until there is an answer in words."""
