"""A hand-off with the models of the ag-ui-protocol package, carried to its end: protocol.py URL THREAD MESSAGE NEXT.

The requests are model_dump() of RunAgentInput without aliases, so that every name is in snake_case: thread_id,
forwarded_props, tool_calls, tool_call_id, mime_type. MESSAGE comes with a picture and a tool on offer, the call is
answered, then NEXT is asked. Prints what the runs said as one JSON object.
"""

import json
import sys
import urllib.error
import urllib.request
import uuid

from ag_ui.core import (
    AssistantMessage,
    FunctionCall,
    ImageInputContent,
    InputContentDataSource,
    RunAgentInput,
    TextInputContent,
    Tool,
    ToolCall,
    ToolMessage,
    UserMessage,
)

TOOL = Tool(
    name="change_background",
    description="Changes the background colour of the page.",
    parameters={"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]},
)
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYPj/HwADAgH/p0eRUwAAAABJRU5ErkJggg=="


def new_id() -> str:
    return str(uuid.uuid4())


def events_of(url: str, body: dict):
    request = urllib.request.Request(
        url,
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Accept": "text/event-stream"},
    )
    try:
        with urllib.request.urlopen(request) as response:
            for line in response:
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])
    except urllib.error.HTTPError as refused:
        sys.exit(f"{refused.code}: {refused.read().decode()}")


def run(url: str, thread: str, messages: list) -> dict:
    """Sends the conversation, adds the assistant's message to it, and returns what was said."""
    run_input = RunAgentInput(
        thread_id=thread, run_id=new_id(), state={}, messages=messages, tools=[TOOL], context=[], forwarded_props={}
    )
    turn = {"text": "", "calls": []}
    last = {}
    message_id = new_id()
    for event in events_of(url, run_input.model_dump()):
        last = event
        message_id = event.get("parentMessageId") or event.get("messageId") or message_id
        if event["type"] == "TEXT_MESSAGE_CONTENT":
            turn["text"] += event["delta"]
        elif event["type"] == "TOOL_CALL_START":
            turn["calls"].append({"id": event["toolCallId"], "name": event["toolCallName"], "args": ""})
        elif event["type"] == "TOOL_CALL_ARGS":
            turn["calls"][-1]["args"] += event["delta"]
    if last.get("type") != "RUN_FINISHED":
        sys.exit(f"the stream ends with {last}")
    calls = [
        ToolCall(id=call["id"], function=FunctionCall(name=call["name"], arguments=call["args"]))
        for call in turn["calls"]
    ]
    messages.append(AssistantMessage(id=message_id, content=turn["text"] or None, tool_calls=calls or None))
    return turn


def carry(url: str, thread: str, message: str, following: str) -> None:
    picture = ImageInputContent(source=InputContentDataSource(value=PIXEL, mime_type="image/png"))
    messages = [UserMessage(id=new_id(), content=[TextInputContent(text=message), picture])]
    first = run(url, thread, messages)
    call = first["calls"][0]
    messages.append(ToolMessage(id=new_id(), content='{"status":"ok"}', tool_call_id=call["id"]))
    second = run(url, thread, messages)
    messages.append(UserMessage(id=new_id(), content=following))
    third = run(url, thread, messages)
    print(json.dumps({"turns": [first, second, third]}))


if len(sys.argv) != 5:
    sys.exit("usage: protocol.py URL THREAD MESSAGE NEXT")
carry(*sys.argv[1:])
