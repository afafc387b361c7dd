"""`schemafill serve` as its clients meet it. usage: serve_test.py PROGRAM. Needs the default model (label model).

Cases by number are those of the project's list: 12 finish_reason, 13 history, 14 tool_choice, 15 parallel_tool_calls,
16 two requests one after the other.
"""
import concurrent.futures
import http.client
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from serve_client import MAIL, WEATHER, Server, ask, together, without_ids

PROGRAM = sys.argv.pop(1)
LONG_CHAT = ask("Write a long story about a ship.", max_tokens=400)
server = None


def setUpModule():
    global server
    server = Server(PROGRAM)


def tearDownModule():
    code = server.stop()
    assert code == 0, code


def metrics():
    """{name with labels: value}; every line must read as Prometheus wants it."""
    values = {}
    for line in server.send("GET", "/metrics")[2].decode().splitlines():
        if line.startswith("# "):
            assert re.fullmatch(r"# (HELP|TYPE) [a-z_]+ .+", line), line
            continue
        found = re.fullmatch(r'([a-z_]+(?:\{[a-z]+="[^"]*"\})?) ([0-9.e+-]+)', line)
        assert found, line
        values[found[1]] = float(found[2])
    return values


def generated(body):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(body, file)
        file.flush()
        result = subprocess.run([PROGRAM, "generate", "--request", file.name, "--json"], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


class Case(unittest.TestCase):
    def answer(self, body):
        """The one choice of an answer, which must be there."""
        status, answer = server.complete(body)
        self.assertEqual(status, 200, answer)
        return answer["choices"][0]

    def calls(self, body):
        return self.answer(body)["message"].get("tool_calls", [])


class Answers(Case):
    def test_whole_streamed_and_generate_agree(self):
        for name in ("one-tool", "two-calls", "dialogue"):
            with self.subTest(name):
                body = {**json.loads(pathlib.Path(f"examples/{name}.json").read_text()), "max_tokens": 120}
                status, whole = server.complete(body)
                self.assertEqual(status, 200)
                message, finish = together(server.stream(body))
                choice = whole["choices"][0]
                self.assertEqual(without_ids(message), without_ids(choice["message"]))
                self.assertEqual(finish, choice["finish_reason"])
                want = generated(body)
                calls = [call["function"] for call in message["tool_calls"]]
                self.assertTrue(calls)
                self.assertEqual([call["name"] for call in calls], [call["name"] for call in want["tool_calls"]])
                for call, wanted in zip(calls, want["tool_calls"]):
                    self.assertEqual(json.loads(call["arguments"]), wanted["arguments"])
                    self.assertIn(call["arguments"], want["text"])  # its bytes
                self.assertEqual(whole["usage"]["completion_tokens"], want["stats"]["tokens"])
                self.assertEqual(whole["usage"]["prompt_tokens"], want["stats"]["prompt_tokens"])

    def test_prose(self):
        body = ask("Say hello.", max_tokens=24)
        choice = self.answer(body)
        self.assertEqual(choice["message"]["content"], generated(body)["text"])
        self.assertEqual(together(server.stream(body))[0], choice["message"])

    def test_usage_and_stats(self):
        body = ask("Weather in Oslo?", tools=WEATHER, schemafill=True)
        server.complete(body)
        status, answer = server.complete(body)
        usage = answer["usage"]
        self.assertEqual(usage["total_tokens"], usage["prompt_tokens"] + usage["completion_tokens"])
        # All but the last prompt token has its cell from the request before.
        self.assertEqual(usage["prompt_tokens_details"]["cached_tokens"], usage["prompt_tokens"] - 1)
        self.assertGreater(answer["schemafill"]["al"], 1)
        del body["schemafill"]
        self.assertNotIn("schemafill", server.complete(body)[1])
        self.assertIn("schemafill", server.complete(body, {"X-SchemaFill": "1"})[1])
        chunks = server.stream({**body, "stream_options": {"include_usage": True}})
        self.assertEqual(chunks[-1]["choices"], [])
        self.assertEqual(chunks[-1]["usage"], usage)

    def test_stop_and_sampling(self):
        body = ask("Weather in Oslo?", tools=WEATHER)
        text = self.calls(body)[0]["function"]["arguments"]
        streamed = together(server.stream({**body, "stop": "slo"}))[0]["tool_calls"]
        for calls in (self.calls({**body, "stop": ["slo"]}), streamed):
            self.assertEqual(calls[0]["function"]["arguments"], text[:text.index("slo")])
        chat = ask("Tell me a joke.", max_tokens=16, temperature=1.5, seed=3)
        self.assertEqual(self.answer(chat), self.answer(chat))
        del chat["seed"]
        self.assertNotEqual(self.answer(chat), self.answer(chat))

    def test_12_finish_reason(self):
        body = ask("Weather in Oslo?", tools=WEATHER)
        whole = server.complete(body)[1]
        tokens = whole["usage"]["completion_tokens"]
        self.assertEqual(whole["choices"][0]["finish_reason"], "tool_calls")
        self.assertLess(tokens, 80)
        for most in range(1, tokens + 3):
            limited = {**body, "max_tokens": 80, ("max_completion_tokens" if most % 2 else "max_tokens"): most}
            if most % 4 == 0:
                finish = together(server.stream(limited))[1]
            else:
                answer = server.complete(limited)[1]
                self.assertEqual(answer["usage"]["completion_tokens"], min(most, tokens))
                finish = answer["choices"][0]["finish_reason"]
            self.assertEqual(finish, "length" if most < tokens else "tool_calls", most)
        self.assertEqual(self.answer(ask("Say hello.", max_tokens=3))["finish_reason"], "length")

    def test_13_history(self):
        function = {"name": "get_weather", "arguments": "{\"city\": \"Rome\"}"}
        call = {"id": "c1", "type": "function", "function": function}
        user = {"role": "user", "content": "Weather in Rome?"}
        result = {"role": "tool", "tool_call_id": "c1", "content": "21"}
        more = {"role": "user", "content": "And in Bonn?"}
        rows = [
            [user, {"role": "assistant", "content": None, "tool_calls": [call]}, result, more],
            [user, {"role": "assistant", "tool_calls": [call]}, result, more],
            [user, {"role": "assistant", "content": "21 degrees.", "tool_calls": [], "refusal": None}, more],
            [{"role": "system", "content": "One."}, {"role": "system", "content": "Two."}, user],
            [{"role": "developer", "content": [{"type": "text", "text": "One."}]}, user],
        ]
        for messages in rows:
            self.answer({"messages": messages, "tools": WEATHER, "max_tokens": 4})

    def test_14_tool_choice(self):
        named = {"type": "function", "function": {"name": "send_email"}}
        for text in ("Weather in Oslo?", "What is 2 + 2?"):
            body = ask(text, tools=WEATHER + MAIL, max_tokens=60)
            self.answer({**body, "tool_choice": "auto"})
            self.assertTrue(self.calls({**body, "tool_choice": "required"}))
            streamed = together(server.stream({**body, "tool_choice": named}))[0]["tool_calls"]
            for calls in (self.calls({**body, "tool_choice": named}), streamed):
                self.assertEqual(calls[0]["function"]["name"], "send_email")
            self.assertFalse(self.calls({**body, "max_tokens": 8, "tool_choice": "none"}))
        self.assertFalse(self.calls(ask("Hello", max_tokens=8, tool_choice="none")))

    def test_15_one_call(self):
        body = ask("What is the weather in Oslo and in Rome?", tools=WEATHER, parallel_tool_calls=False)
        self.assertEqual(len(self.calls(body)), 1)
        self.assertEqual(len(together(server.stream(body))[0]["tool_calls"]), 1)
        self.assertEqual(self.answer(body)["finish_reason"], "tool_calls")

    def test_16_one_after_the_other(self):
        first = ask("What is the weather in Oslo, Rome and Bonn?", tools=WEATHER + MAIL)
        second = ask("Weather in Bonn?", tools=WEATHER)
        self.calls(first)
        after = [call["function"] for call in self.calls(second)]
        self.assertEqual([(call["name"], json.loads(call["arguments"])) for call in after],
                         [(call["name"], call["arguments"]) for call in generated(second)["tool_calls"]])

    def test_eight_clients_at_once(self):
        cities = ["Oslo", "Rome", "Bonn", "Lima", "Cairo", "Delhi", "Quito", "Seoul"]
        bodies = [ask(f"Weather in {city}?", tools=WEATHER) for city in cities]
        alone = [without_ids(self.answer(body)["message"]) for body in bodies]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            whole = list(pool.map(lambda body: without_ids(self.answer(body)["message"]), bodies))
            streamed = list(pool.map(lambda body: without_ids(together(server.stream(body))[0]), bodies))
        self.assertEqual(whole, alone)
        self.assertEqual(streamed, alone)
        for city, message in zip(cities, alone):
            self.assertIn(city, message["tool_calls"][0]["function"]["arguments"])


class Mistakes(Case):
    def refused(self, status, param, body, path="/v1/chat/completions", method="POST", headers=None):
        got, _, text = server.send(method, path, body, headers)
        self.assertEqual(got, status, text)
        error = json.loads(text)["error"]
        self.assertEqual(set(error), {"message", "type", "param", "code"})
        self.assertEqual(error["param"], param)
        self.assertTrue(error["message"])
        return error

    def test_bodies(self):
        rows = [
            (None, ""), (None, "{bad"), (None, b"\xff\xfe"), (None, "[]"), (None, "{\"a\":" + "[" * 100000),
            (None, "[" * 600 + "]" * 600),
            ("messages", {}), ("messages", {"messages": "hi"}), ("messages[0].role", {"messages": [{}]}),
            ("tools", ask("x", tools={})), ("tool_choice", ask("x", tool_choice="any")),
            ("max_tokens", ask("x", max_tokens="9")), ("temperature", ask("x", temperature=[])),
            ("logprobs", ask("x", logprobs=True)), ("n", ask("x", n=2)),
            ("response_format", ask("x", response_format={"type": "json_object"})),
            ("stop", ask("x", stop=[""])), ("whatever", ask("x", whatever=1)),
        ]
        for param, body in rows:
            with self.subTest(str(body)[:40]):
                self.refused(400, param, body)
        # Streamed or not, a request that is refused says so by its status.
        self.refused(400, "n", ask("x", n=2, stream=True))
        self.refused(400, "messages", ask("word " * 9000, stream=True))
        self.assertEqual(self.refused(400, "messages", ask("word " * 9000))["code"], "context_length_exceeded")
        self.refused(413, None, " " * (9 << 20))
        # What is left of a body never counts as another request.
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        for status in (413, 400):
            size = (9 << 20) if status == 413 else 1
            connection.request("POST", "/v1/chat/completions", iter([b" " * size]),
                               {"Content-Type": "application/json"}, encode_chunked=True)
            response = connection.getresponse()
            self.assertEqual((response.status, bool(response.read())), (status, True))
        connection.close()
        self.refused(400, "Content-Type", ask("x"), headers={"Content-Type": "text/plain"})
        self.answer(ask("Hello", max_tokens=2))

    def test_paths_and_models(self):
        self.refused(404, None, None, "/v1/nothing", "GET")
        self.refused(404, None, ask("x"), "/v1/completions")
        self.assertEqual(self.refused(404, "model", ask("x", model="gpt-9"))["code"], "model_not_found")
        self.refused(403, None, ask("x"), headers={"Host": "evil.example"})
        models = json.loads(server.send("GET", "/v1/models")[2])["data"]
        self.assertEqual([model["id"] for model in models], ["default"])
        self.assertEqual(json.loads(server.send("GET", "/v1/models/default")[2]), models[0])
        self.refused(404, "model", None, "/v1/models/gpt-9", "GET")
        self.answer(ask("Hello", max_tokens=2, model="default"))
        self.assertEqual(server.send("GET", "/health")[0], 200)
        self.assertNotIn("Access-Control-Allow-Origin", server.send("GET", "/health")[1])

    def test_command_line(self):
        rows = [(["--port", str(server.port)], "--port"), (["--port", "99999"], "--port"),
                (["--host", "203.0.113.1"], "--host"), (["--api-key", ""], "--api-key"),
                (["--api-key", "a b"], "--api-key"), (["--method", "magic"], "magic"),
                (["--method", "parallel-fill"], "lossy")]
        for options, word in rows:
            with self.subTest(options):
                result = subprocess.run([PROGRAM, "serve", *options], capture_output=True, text=True, timeout=60)
                self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
                self.assertIn(word, result.stderr.splitlines()[0])

    def test_log_holds_no_contents(self):
        self.calls(ask("Weather in Reykjavik?", tools=WEATHER))
        self.assertNotIn("Reykjavik", "".join(server.log))
        self.assertIn("POST /v1/chat/completions 200\n", server.log)


class Interruptions(Case):
    def leave(self, body, wait):
        """Sends a request and hangs up, after the first bytes of the answer or after a while."""
        text = json.dumps(body)
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                           "Content-Type: application/json\r\n"
                           f"Content-Length: {len(text)}\r\n\r\n{text}".encode())
            if wait is None:
                client.recv(100)
            else:
                time.sleep(wait)

    def test_clients_that_go(self):
        before = metrics()
        want = self.answer(ask("Weather in Oslo?", tools=WEATHER))["message"]
        self.leave({**LONG_CHAT, "stream": True}, None)
        self.leave(LONG_CHAT, 0.5)
        self.assertEqual(without_ids(self.answer(ask("Weather in Oslo?", tools=WEATHER))["message"]), without_ids(want))
        after = metrics()
        self.assertEqual(after["schemafill_cancelled_total"] - before["schemafill_cancelled_total"], 2)
        self.assertEqual((after["schemafill_requests_waiting"], after["schemafill_requests_running"]), (0, 0))

    def test_metrics_count(self):
        before = metrics()
        answer = server.complete(ask("Weather in Oslo?", tools=WEATHER))[1]
        server.send("POST", "/v1/chat/completions", "{")
        after = metrics()

        def grown(name):
            return after[name] - before.get(name, 0)
        self.assertEqual(grown("schemafill_tokens_total"), answer["usage"]["completion_tokens"])
        self.assertEqual(grown("schemafill_prompt_tokens_total"), answer["usage"]["prompt_tokens"])
        self.assertEqual(grown("schemafill_request_seconds_count"), 1)
        self.assertEqual(grown('schemafill_responses_total{status="400"}'), 1)
        self.assertGreater(after["schemafill_acceptance_length"], 1)
        self.assertLessEqual(after["schemafill_cells_used"], after["schemafill_cells"])

    def test_nobody_reads_the_log(self):
        own = Server(PROGRAM, log=False)
        self.assertEqual(own.send("GET", "/health")[0], 200)
        self.assertEqual(own.send("GET", "/health")[0], 200)
        self.assertEqual(own.stop(), 0)

    def test_key_full_queue_and_graceful_stop(self):
        own = Server(PROGRAM, "--api-key", "sesame", "--max-queue", "1", "--body-limit", "2000")
        try:
            key = {"Authorization": "Bearer sesame"}
            chat = ("POST", "/v1/chat/completions", ask("x"))
            for wrong in (None, "Bearer sesam", "Bearer sesamesesame", "Bearer ", "sesame"):
                headers = {"Authorization": wrong} if wrong is not None else {}
                for asked in (chat, ("GET", "/v1/models", None), ("GET", "/metrics", None)):
                    status, _, text = own.send(*asked, headers)
                    self.assertEqual((status, json.loads(text)["error"]["code"]), (401, "invalid_api_key"))
            self.assertEqual(own.send("GET", "/health")[0], 200)
            self.assertEqual(own.send("GET", "/v1/models", None, key)[0], 200)
            self.assertEqual(own.send("POST", "/v1/chat/completions", ask("x" * 3000), key)[0], 413)

            results = []

            def ask_long():
                results.append(own.send("POST", "/v1/chat/completions", LONG_CHAT, key))
            threads = [threading.Thread(target=ask_long) for _ in range(2)]
            for thread in threads:  # one runs, one waits
                thread.start()
                time.sleep(0.3)
            status, headers, text = own.send("POST", "/v1/chat/completions", ask("x"), key)
            self.assertEqual((status, json.loads(text)["error"]["code"]), (503, "queue_full"))
            self.assertEqual(headers["Retry-After"], "1")
            self.assertEqual(own.stop(), 0)
            for thread in threads:
                thread.join()
            self.assertEqual(sorted(result[0] for result in results), [200, 503])
            finished = next(json.loads(text) for status, _, text in results if status == 200)
            self.assertGreater(finished["usage"]["completion_tokens"], 1)
            refused = next(json.loads(text) for status, _, text in results if status == 503)
            self.assertEqual(refused["error"]["code"], "stopping")
        finally:
            if own.process.returncode is None:
                own.process.kill()
                own.stop()


if __name__ == "__main__":
    unittest.main()
