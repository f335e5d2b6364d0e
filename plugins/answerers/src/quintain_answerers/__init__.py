"""Who answers when an agent asks."""
