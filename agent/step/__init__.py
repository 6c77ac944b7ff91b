"""Do one work order from start to end: context, model call, tool calls, result."""
