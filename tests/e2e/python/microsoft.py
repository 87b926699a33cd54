"""A hand-off with Microsoft's agent-framework client, carried to its end: microsoft.py URL THREAD MESSAGE NEXT.

An Agent with a local function as its tool asks MESSAGE; the framework executes the call, sends the answer and goes on
by itself. Then the same session asks NEXT. Prints the texts and what the function was called with as one JSON object.
"""

import asyncio
import json
import sys
from typing import Annotated

from agent_framework import Agent, tool
from agent_framework_ag_ui import AGUIChatClient

painted = []


@tool(approval_mode="never_require")
def change_background(color: Annotated[str, "A CSS colour"]) -> str:
    """Changes the background colour of the page."""
    painted.append(color)
    return '{"status":"ok"}'


async def carry(url: str, thread: str, message: str, following: str) -> None:
    options = {"metadata": {"thread_id": thread}}
    async with AGUIChatClient(endpoint=url) as client:
        agent = Agent(client=client, name="painter", tools=[change_background])
        session = agent.create_session()
        first = await agent.run(message, session=session, options=options)
        second = await agent.run(following, session=session, options=options)
    print(json.dumps({"painted": painted, "texts": [first.text, second.text]}))


if len(sys.argv) != 5:
    sys.exit("usage: microsoft.py URL THREAD MESSAGE NEXT")
asyncio.run(carry(*sys.argv[1:]))
