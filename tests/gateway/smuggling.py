"""Messages that two parsers could read in two ways. Nothing of the requests may reach a server, and an answer of the second
list must never be taken for the answer to the client's next request."""

BODY = b'{"model":"m"}'
P = b"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
CHUNKED = b"d\r\n" + BODY + b"\r\n0\r\n\r\n"
INNER = b"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: 13\r\n\r\n" + BODY

SMUGGLED_REQUESTS = [
    ("both lengths", P + b"Content-Length: 13\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKED),
    ("both, the other way", P + b"Transfer-Encoding: chunked\r\nContent-Length: 13\r\n\r\n" + CHUNKED),
    ("two lengths", P + b"Content-Length: 13\r\nContent-Length: 0\r\n\r\n" + BODY),
    ("a list of lengths", P + b"Content-Length: 13, 13\r\n\r\n" + BODY),
    ("length with sign", P + b"Content-Length: +13\r\n\r\n" + BODY),
    ("length in hex", P + b"Content-Length: 0xd\r\n\r\n" + BODY),
    ("length with blank", P + b"Content-Length: 1 3\r\n\r\n" + BODY),
    ("negative length", P + b"Content-Length: -13\r\n\r\n" + BODY),
    ("blank before the colon", P + b"Content-Length : 13\r\n\r\n" + BODY),
    ("twin with underscore", P + b"Content_Length: 0\r\nContent-Length: 13\r\n\r\n" + BODY),
    ("xchunked", P + b"Transfer-Encoding: xchunked\r\n\r\n" + CHUNKED),
    ("chunked, identity", P + b"Transfer-Encoding: chunked, identity\r\n\r\n" + CHUNKED),
    ("identity, chunked", P + b"Transfer-Encoding: identity, chunked\r\n\r\n" + CHUNKED),
    ("chunked twice", P + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKED),
    ("chunked with a vertical tab", P + b"Transfer-Encoding: \x0bchunked\r\n\r\n" + CHUNKED),
    ("chunked with a NUL", P + b"Transfer-Encoding: chunked\x00\r\n\r\n" + CHUNKED),
    ("folded", P + b"Transfer-Encoding:\r\n chunked\r\n\r\n" + CHUNKED),
    ("HTTP/1.0 and chunked", P.replace(b"1.1", b"1.0") + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKED),
    ("bare LF", P.replace(b"\r\n", b"\n") + b"Content-Length: 13\n\n" + BODY),
    ("bare CR in a value", P + b"X: a\rTransfer-Encoding: chunked\r\nContent-Length: 13\r\n\r\n" + BODY),
    ("chunk size with sign", P + b"Transfer-Encoding: chunked\r\n\r\n+d\r\n" + BODY + b"\r\n0\r\n\r\n"),
    ("chunk size with 0x", P + b"Transfer-Encoding: chunked\r\n\r\n0xd\r\n" + BODY + b"\r\n0\r\n\r\n"),
    ("chunk size too large", P + b"Transfer-Encoding: chunked\r\n\r\n1000000000000000d\r\n" + BODY + b"\r\n0\r\n\r\n"),
    ("chunk without its end", P + b"Transfer-Encoding: chunked\r\n\r\nd\r\n" + BODY + b"0\r\n\r\n"),
    ("bare LF in chunks", P + b"Transfer-Encoding: chunked\r\n\r\nd\n" + BODY + b"\n0\n\n"),
    ("length in a trailer", P + b"Transfer-Encoding: chunked\r\n\r\nd\r\n" + BODY + b"\r\n0\r\nContent-Length: 5\r\n\r\n"),
    ("two hosts", P + b"Host: other\r\nContent-Length: 13\r\n\r\n" + BODY),
    ("no host", P.replace(b"Host: h\r\n", b"") + b"Content-Length: 13\r\n\r\n" + BODY),
    ("another host in the target", b"POST http://x/v1/completions HTTP/1.1\r\nHost: h\r\nContent-Length: 13\r\n\r\n" + BODY),
    ("dots in the path", P.replace(b"/v1/chat", b"/v1/../v1/chat") + b"Content-Length: 13\r\n\r\n" + BODY),
    ("encoded dots", P.replace(b"/v1/chat", b"/v1/%2e%2e/v1/chat") + b"Content-Length: 13\r\n\r\n" + BODY),
    ("connect", b"CONNECT h:80 HTTP/1.1\r\nHost: h:80\r\n\r\n"),
    ("the admin page of the server", b"POST /v1/models/m/../../../sleep HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"),
    ("a model twice", P + b"Content-Length: 25\r\n\r\n" + b'{"model":"m","model":"n"}'),
    ("a model twice, escaped", P + b"Content-Length: 30\r\n\r\n" + b'{"model":"m","mod\\u0065l":"n"}'),
]

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
SECOND = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsmuggled"

SMUGGLED_ANSWERS = [
    ("an answer behind the answer", OK + b"Content-Length: 2\r\n\r\n{}" + SECOND),
    ("both lengths", OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SECOND),
    ("two lengths", OK + b"Content-Length: 0\r\nContent-Length: 40\r\n\r\n" + SECOND),
    ("bad chunk", OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}0\r\n\r\n" + SECOND),
    ("chunk size with sign", OK + b"Transfer-Encoding: chunked\r\n\r\n+2\r\n{}\r\n0\r\n\r\n" + SECOND),
    ("xchunked", OK + b"Transfer-Encoding: xchunked\r\n\r\n" + SECOND),
    ("folded", OK + b"X: a\r\n Content-Length: 0\r\nContent-Length: 2\r\n\r\n{}" + SECOND),
    ("bare LF", OK.replace(b"\r\n", b"\n") + b"Content-Length: 0\n\n" + SECOND),
    ("switching protocols", b"HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n" + SECOND),
    ("interim for ever", b"HTTP/1.1 100 Continue\r\n\r\n" * 50 + SECOND),
    ("HTTP/0.9", b"smuggled"),
    ("control in a header", OK + b"X: a\x00b\r\nContent-Length: 2\r\n\r\n{}"),
    ("a line break in a header", OK + b"X: a\rContent-Length: 0\r\nContent-Length: 2\r\n\r\n{}"),
]
