"""Whoever has read docs/integrators/stream.md alone acknowledges on the bus: the page's own program asks what the page shows."""
import json
import re
import threading
from pathlib import Path

import pytest
import zmq

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "integrators" / "stream.md").read_text()
QUESTION, STORED, REFUSED = (json.loads(frame) for frame in re.findall(r"```json\n(.*?)\n```", PAGE))


def allow(folder, name):
    public, secret = zmq.curve_keypair()
    (folder / "public").mkdir(exist_ok=True)
    (folder / name).mkdir()
    (folder / "public" / f"{name}.json").write_text(json.dumps({"peer": name, "key": public.decode()}))
    (folder / name / "bus.secret").write_text(secret.decode() + "\n")
    return secret


@pytest.mark.parametrize("answer", [STORED, REFUSED], ids=["stored", "refused"])
def test_the_pages_program_asks_the_pages_question_and_reads_its_answers(tmp_path, answer):
    secret = allow(tmp_path, "sos-dispatcher")
    allow(tmp_path, "milan-desk")
    names, heard = {}, []
    exec(re.search(r"```python\n(.*?)```", PAGE, re.S).group(1), names)
    with zmq.Context.instance().socket(zmq.ROUTER) as server:
        server.linger, server.curve_server, server.curve_secretkey = 0, True, secret
        port = server.bind_to_random_port("tcp://127.0.0.1")

        def reply():
            while server.poll(20_000):
                route, frame = server.recv_multipart()
                heard.append(json.loads(frame))
                if len(heard) == 2:  # the first one got lost
                    server.send_multipart([route, json.dumps(answer | {"id": heard[-1]["id"]}).encode()])
                    return

        answering = threading.Thread(target=reply)
        answering.start()
        body = QUESTION["body"]
        given = names["acknowledge"](tmp_path, "milan-desk", f"tcp://127.0.0.1:{port}", body["messageId"], body["ackId"])
        answering.join()
    first, again = heard
    assert first["id"] == again["id"] == given["id"] and re.fullmatch("[0-9a-f]{32}", first["id"])
    assert given == answer | {"id": first["id"]}
    assert list(first) == list(QUESTION) and first | {"id": QUESTION["id"], "deadline": QUESTION["deadline"]} == QUESTION
