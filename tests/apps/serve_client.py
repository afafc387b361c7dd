"""A running `schemafill serve`, and the requests of the tests that talk to it. Standard library only."""

import http.client
import json
import os
import re
import signal
import subprocess
import threading

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

WEATHER = [{"type": "function", "function": {
    "name": "get_weather", "description": "Weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]
MAIL = [{"type": "function", "function": {
    "name": "send_email", "description": "Send an email",
    "parameters": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}}}]


def ask(text, **fields):
    """The body of a request of one user turn."""
    return {"messages": [{"role": "user", "content": text}], "max_tokens": 80, "temperature": 0, **fields}


class Server:
    def __init__(self, program, *options, log=True):
        """Waits until it listens; without `log` nobody reads its messages from then on."""
        self.process = subprocess.Popen([program, "serve", "--port", "0", *options], stderr=subprocess.PIPE, text=True)
        self.log = []
        for line in self.process.stderr:
            self.log.append(line)
            if found := re.match(r"listening on http://127\.0\.0\.1:(\d+)$", line):
                self.port = int(found[1])
                break
        else:
            raise RuntimeError("".join(self.log))
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr))
        if log:
            self.reader.start()
        else:
            self.process.stderr.close()

    def stop(self):
        """Ends it as a user does; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=120)
        if not self.process.stderr.closed:
            self.reader.join()
            self.process.stderr.close()
        return code

    def send(self, method, path, body=None, headers=None):
        """(status, headers, bytes); a body that is no text is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        try:
            if body is not None and not isinstance(body, (str, bytes)):
                body = json.dumps(body)
            connection.request(method, path, body, {"Content-Type": "application/json", **(headers or {})})
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def complete(self, body, headers=None):
        """(status, parsed answer) of a chat completion."""
        status, _, text = self.send("POST", "/v1/chat/completions", body, headers)
        return status, json.loads(text)

    def stream(self, body):
        """The chunks of a streamed chat completion."""
        status, headers, text = self.send("POST", "/v1/chat/completions", {**body, "stream": True})
        assert status == 200 and headers["Content-Type"] == "text/event-stream", text
        events = text.decode().split("\n\n")
        assert events[-2:] == ["data: [DONE]", ""], events[-2:]
        assert all(event.startswith("data: ") for event in events[:-1])
        return [json.loads(event[6:]) for event in events[:-2]]


def together(chunks):
    """(message, finish_reason) that a client puts together from a stream."""
    message = {"role": None, "content": None}
    finish = None
    for chunk in chunks:
        for choice in chunk["choices"]:
            assert finish is None, "a chunk behind finish_reason"
            finish = choice["finish_reason"]
            delta = choice["delta"]
            message["role"] = delta.get("role", message["role"])
            if delta.get("content") is not None:
                message["content"] = (message["content"] or "") + delta["content"]
            for piece in delta.get("tool_calls", []):
                calls = message.setdefault("tool_calls", [])
                if piece["index"] == len(calls):
                    calls.append({key: value for key, value in piece.items() if key != "index"})
                else:
                    calls[piece["index"]]["function"]["arguments"] += piece["function"]["arguments"]
    return message, finish


def without_ids(message):
    """Call ids differ from answer to answer."""
    calls = [{**call, "id": None} for call in message.get("tool_calls", [])]
    return {**message, "tool_calls": calls}
