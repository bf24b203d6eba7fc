"""What a stranger sends: bodies, heads, framing, slowness and counts. Bytes as they are, by no client that would mend them."""
import gzip
import itertools
import json
import random
import re
import socket
import ssl


MARKS = "\u0301\u0316"
WRONG = [None, True, -1, 1.5e300, "x", [], {}, [[]], "\u0000", "9" * 400]


def times(unit, size):
    return unit * max(1, size // len(unit.encode()))


def numbered(size, unit):
    """Members or elements until it is so many bytes."""
    parts, length = [], 0
    for index in itertools.count():
        parts.append(unit(index))
        length += len(parts[-1]) + 1
        if length >= size:
            return ",".join(parts)


# By name; each makes about so many bytes.
BODIES = {
    "depth: arrays that never close": lambda n: times("[", n),
    "depth: objects in objects": lambda n: times('{"a":', n - n // 6) + "1" + times("}", n // 6),
    "depth: arrays in arrays": lambda n: times("[", n // 2) + times("]", n // 2),
    "depth: as deep as may be, again and again": lambda n: "[" + numbered(n, lambda _: '{"a":' * 30 + "1" + "}" * 30) + "]",
    "width: numbers": lambda n: "[" + numbered(n, lambda i: str(i % 10)) + "]",
    "width: empty objects": lambda n: "[" + numbered(n, lambda _: "{}") + "]",
    "width: members": lambda n: "{" + numbered(n, lambda i: f'"m{i}":1') + "}",
    "width: identifiers": lambda n: '{"ids":[' + numbered(n, lambda _: '"per_0123456789abcdefghjkmnpqr"') + "]}",
    "length: a text": lambda n: '{"a":"' + times("a", n) + '"}',
    "length: a text of combining marks": lambda n: '{"a":"a' + times(MARKS, n) + '"}',
    "length: a name": lambda n: '{"' + times("a", n) + '":1}',
    "length: a name of combining marks": lambda n: '{"a' + times(MARKS, n) + '":1}',
    "length: names of combining marks": lambda n: "{" + numbered(n, lambda i: f'"{i}{MARKS * 60}":1') + "}",
    "length: digits": lambda n: times("7", n),
    "length: an exponent": lambda n: "1e" + times("9", n),
    "length: white space": lambda n: times(" ", n) + "1",
    "repeated keys": lambda n: "{" + numbered(n, lambda _: '"a":1') + "}",
    "repeated keys, escaped": lambda n: "{" + numbered(n, lambda i: '"a":1' if i % 2 else '"\\u0061":1') + "}",
    "lone surrogates": lambda n: '["' + times("\\ud800", n) + '"]',
    "not UTF-8": lambda n: b'{"a":"' + b"\xff\xc0\xaf" * (n // 3) + b'"}',
    "nothing": lambda _: "",
}


def body(name, size):
    made = BODIES[name](size)
    return made if isinstance(made, bytes) else made.encode()


class Operation:
    """One method of one path of a service's OpenAPI document."""

    def __init__(self, document, service, url, path, method, described):
        self.service, self.url, self.method = service, url, method.upper()
        self.path = re.sub(r"\{(\w+)\}", lambda found: self._example(described, found[1]), path)
        self.template = f"{self.method} {path}"
        self.content = list(described.get("requestBody", {}).get("content", {}))
        self.schemes = {name for one in described.get("security", []) for name in one}
        self.properties = self._properties(document, described)

    @staticmethod
    def _example(described, name):
        for parameter in described.get("parameters", []):
            prefix = re.match(r"\^([a-z]{3}_)", parameter.get("schema", {}).get("pattern", ""))
            if parameter["name"] == name and prefix:
                return prefix[1] + "0" * 26
        return "x"

    @staticmethod
    def _properties(document, described):
        def resolve(schema):
            while "$ref" in schema:
                schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
            return schema
        found = []
        for content in described.get("requestBody", {}).get("content", {}).values():
            schema = resolve(content.get("schema", {}))
            for one in [schema, *map(resolve, schema.get("anyOf", []))]:
                found += one.get("properties", {})
        return found

    def bodies(self, size):
        """Pairs of a name and bytes: the table, each kind of it in a member that the route knows, and every wrong type of every member."""
        for name in BODIES:
            yield name, body(name, size)
        for member in self.properties[:6]:
            name = random.choice(list(BODIES))
            yield f"{name}, as a member", b'{"' + member.encode() + b'":' + (body(name, size) or b"0") + b"}"
        for wrong in WRONG:
            yield f"wrong type: {json.dumps(wrong)[:8]}", json.dumps({name: wrong for name in self.properties}).encode()


def operations(document, service, url):
    return [
        Operation(document, service, url, path, method, described)
        for path, methods in document["paths"].items() for method, described in methods.items()
        if method in ("get", "post", "put", "patch", "delete")]


def zipped(size):
    """About a thousandfold."""
    return gzip.compress(b"[" + b"0," * (size // 2) + b"0]", 9)


class Wire:
    """One connection to `http://` on loopback or to the edge's `https://`, and the bytes on it."""

    insecure = ssl.create_default_context()
    insecure.check_hostname, insecure.verify_mode = False, ssl.CERT_NONE

    def __init__(self, url, timeout=5, source=None):
        scheme, self.host = url.split("://")
        name, port = self.host.split(":")
        self.socket = socket.create_connection((name, int(port)), timeout=timeout, source_address=(source, 0) if source else None)
        self.retry_after = False
        if scheme == "https":
            self.socket = Wire.insecure.wrap_socket(self.socket, server_hostname="localhost")
        self.rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def head(self, method, path, *fields, host=True):
        lines = [f"{method} {path} HTTP/1.1", *([f"Host: {self.host}"] if host else []), *fields]
        return "\r\n".join(lines).encode() + b"\r\n\r\n"

    def answer(self):
        """Status and whether the connection goes on; 0 where it was closed without an answer."""
        while b"\r\n\r\n" not in self.rest:
            if not (got := self.socket.recv(65536)):
                return 0, False
            self.rest += got
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        status = int(head.split(b" ", 2)[1])
        self.retry_after = b"\r\nretry-after:" in head.lower()
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        wanted = int(length[1]) if length else 0
        while len(self.rest) < wanted:
            if not (got := self.socket.recv(65536)):
                return status, False
            self.rest += got
        self.rest = self.rest[wanted:]
        return status, b"connection: close" not in head.lower()

    def request(self, method, path, fields, content):
        self.send(self.head(method, path, *fields, f"Content-Length: {len(content)}") + content)
        return self.answer()


def speaks_h2(url):
    name, port = url.split("://")[1].split(":")
    offer = ssl.create_default_context()
    offer.check_hostname, offer.verify_mode = False, ssl.CERT_NONE
    offer.set_alpn_protocols(["h2", "http/1.1"])
    with socket.create_connection((name, int(port)), timeout=5) as plain, offer.wrap_socket(plain, server_hostname="localhost") as wire:
        return wire.selected_alpn_protocol() == "h2"


def framings(host, path):
    """Requests that two readers could read differently; each must be refused, and nothing after it be taken for a request."""
    smuggled = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
    chunk = b"%x\r\n%s\r\n0\r\n\r\n" % (len(smuggled), smuggled)
    line, to, kind = f"POST {path} HTTP/1.1\r\n".encode(), f"Host: {host}\r\n".encode(), b"Content-Type: application/json\r\n"
    return {
        "no Host": line + kind + b"Content-Length: 2\r\n\r\n{}",
        "two Hosts": line + to + b"Host: other\r\n" + kind + b"Content-Length: 2\r\n\r\n{}",
        "two lengths": line + to + kind + b"Content-Length: 2\r\nContent-Length: 40\r\n\r\n{}" + smuggled,
        "length and chunks": line + to + kind + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk,
        "gzip, chunked": line + to + kind + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + chunk,
        "empty Transfer-Encoding": line + to + kind + b"Transfer-Encoding: \r\n\r\n" + smuggled,
        "chunked twice": line + to + kind + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk,
        "a length that is none": line + to + kind + b"Content-Length: +2\r\n\r\n{}",
        "a length that overflows": line + to + kind + b"Content-Length: 99999999999999999999\r\n\r\n{}",
        "a chunk that overflows": line + to + kind + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}\r\n",
        "space before the colon": line + to + kind + b"Content-Length : 40\r\n\r\n" + smuggled,
        "folded field": line + to + kind + b"X-A: b\r\n c\r\nContent-Length: 2\r\n\r\n{}",
        "bare line feeds": line.replace(b"\r", b"") + to.replace(b"\r", b"") + b"Content-Length: 40\n\n" + smuggled,
    }


def heads(host, path):
    line, to = f"GET {path} HTTP/1.1\r\n".encode(), f"Host: {host}\r\n".encode()
    return [
        line + to + b"".join(b"X-%d: a\r\n" % index for index in range(5000)) + b"\r\n", line + to + b"X: " + b"a" * 200_000 + b"\r\n\r\n",
        f"GET /{'a' * 100_000} HTTP/1.1\r\n".encode() + to + b"\r\n", f"GET {path}?{'a=b&' * 4000} HTTP/1.1\r\n".encode() + to + b"\r\n",
        line + to + b"Authorization: Bearer " + b"." * 12_000 + b"\r\n\r\n", line + to + b"Cookie: " + b"a=b;" * 3500 + b"\r\n\r\n",
        line + to + b"Accept: " + b"a/b;q=0.1," * 1400 + b"\r\n\r\n", line + to + b"Accept-Language: " + b"it;q=0.1," * 1600 + b"\r\n\r\n",
        line + to + b"X: \x00\x01\xff\r\n\r\n", b"\x00" * 4000, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
        f"GET {path.replace('/', '/%2e%2e/')} HTTP/1.1\r\n".encode() + to + b"\r\n",
    ]
