# Reads an answer of each mock with the vendors' own clients. usage: read_with_sdks.py CASES, a JSON list of objects with
# dialect, url, key and ask. Prints a JSON list of objects with text and calls, or error.
import json
import sys

import anthropic
import openai

TOOL = {'type': 'object', 'properties': {'color': {'type': 'string'}}}


def chat_completions(url, key, ask):
    client = openai.OpenAI(base_url=url, api_key=key, max_retries=0)
    tools = [{'type': 'function', 'function': {'name': 'paint', 'parameters': TOOL}}]
    with client.chat.completions.stream(model='m', messages=[{'role': 'user', 'content': ask}], tools=tools) as stream:
        message = stream.get_final_completion().choices[0].message
    calls = [{'name': call.function.name, 'arguments': json.loads(call.function.arguments)} for call in message.tool_calls or []]
    return {'text': message.content or '', 'calls': calls}


def messages(url, key, ask):
    client = anthropic.Anthropic(base_url=url, api_key=key, max_retries=0)
    with client.messages.stream(
        model='m', max_tokens=100, messages=[{'role': 'user', 'content': [{'type': 'text', 'text': ask}]}],
        tools=[{'name': 'paint', 'input_schema': TOOL}],
    ) as stream:
        content = stream.get_final_message().content
    return {
        'text': ''.join(block.text for block in content if block.type == 'text'),
        'calls': [{'name': block.name, 'arguments': block.input} for block in content if block.type == 'tool_use'],
    }


def responses(url, key, ask):
    client = openai.OpenAI(base_url=url, api_key=key, max_retries=0)
    with client.responses.stream(
        model='m', store=False, input=[{'type': 'message', 'role': 'user', 'content': [{'type': 'input_text', 'text': ask}]}],
        tools=[{'type': 'function', 'name': 'paint', 'strict': False, 'parameters': TOOL}],
        stream_options={'include_obfuscation': False}, extra_body={'prompt_cache_key': 'p'},
    ) as stream:
        response = stream.get_final_response()
    calls = [item for item in response.output if item.type == 'function_call']
    return {
        'text': response.output_text,
        'calls': [{'name': call.name, 'arguments': json.loads(call.arguments)} for call in calls],
    }


READERS = {'chat_completions': chat_completions, 'messages': messages, 'responses': responses}


def read(case):
    try:
        return READERS[case['dialect']](case['url'], case['key'], case['ask'])
    except Exception as error:  # What a client makes of the stream is the result.
        return {'error': f'{type(error).__name__}: {error}'}


print(json.dumps([read(case) for case in json.loads(sys.argv[1])]))
