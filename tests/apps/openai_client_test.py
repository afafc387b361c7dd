"""The official `openai` client against `schemafill serve`: the loop of an agent. usage: openai_client_test.py PROGRAM.

Run with .venv/bin/python, which has the client. Needs the default model (label model).
"""
import json
import sys
import unittest

import openai

from serve_client import WEATHER, Server, together

PROGRAM = sys.argv.pop(1)
server = None
client = None


def setUpModule():
    global server, client
    server = Server(PROGRAM)
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0)


def tearDownModule():
    client.close()
    assert server.stop() == 0


def create(**body):
    return client.chat.completions.create(model="default", temperature=0, **body)


def whole(**body):
    return create(**body).choices[0].message.model_dump(exclude_unset=True)


def streamed(**body):
    return together([chunk.model_dump(exclude_unset=True) for chunk in create(stream=True, **body)])[0]


class ToolLoop(unittest.TestCase):
    def loop(self, complete):
        """(calls, final text): request, calls, tool results, text."""
        messages = [{"role": "user", "content": "What is the weather in Oslo and in Rome?"}]
        message = complete(messages=messages, tools=WEATHER, max_tokens=80)
        self.assertTrue(message["tool_calls"])
        messages.append(message)
        for call in message["tool_calls"]:
            self.assertIn("city", json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": "21 degrees"})
        final = complete(messages=messages, tools=WEATHER, tool_choice="none", max_tokens=24)
        self.assertNotIn("tool_calls", final)
        self.assertTrue(final["content"])
        return [call["function"] for call in message["tool_calls"]], final["content"]

    def test_whole_and_streamed(self):
        self.assertEqual(self.loop(whole), self.loop(streamed))

    def test_the_clients_own_reader_of_streams(self):
        body = {"messages": [{"role": "user", "content": "Weather in Oslo?"}], "tools": WEATHER, "max_tokens": 80}
        with client.chat.completions.stream(model="default", temperature=0, stream_options={"include_usage": True},
                                            **body) as stream:
            answer = stream.get_final_completion()
        self.assertEqual(answer.choices[0].finish_reason, "tool_calls")
        self.assertEqual([call.function.arguments for call in answer.choices[0].message.tool_calls],
                         [call["function"]["arguments"] for call in whole(**body)["tool_calls"]])
        self.assertEqual(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens)

    def test_errors(self):
        ask = [{"role": "user", "content": "Hi"}]
        with self.assertRaises(openai.BadRequestError) as refused:
            whole(messages=ask, logprobs=True)
        self.assertEqual(refused.exception.param, "logprobs")
        with self.assertRaises(openai.NotFoundError):
            client.chat.completions.create(model="gpt-9", messages=ask)
        self.assertEqual([model.id for model in client.models.list()], ["default"])


if __name__ == "__main__":
    unittest.main()
