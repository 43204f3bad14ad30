/*
 * http_vectors: requests on the wire, and what must come of them. For http_parse_test and http_server_test.
 *
 * `bytes` is everything the client sends. status 0: every request in it is good, and `seen` is what the parser must
 * have understood of all of them: "METHOD target body|" each. Otherwise the answer to the first bad one has that
 * status, and `seen` holds the good ones before it.
 */

/* clang-format off */
#ifndef BERTH_NET_HTTP_VECTORS_H
#define BERTH_NET_HTTP_VECTORS_H

#include "base/str.h"

struct http_vector {
    const char *name;
    struct str bytes;
    int status;
    const char *seen;
};

#define GET_ "GET /a HTTP/1.1\r\nHost: h\r\n"
#define POST_ "POST /a HTTP/1.1\r\nHost: h\r\n"
#define CHUNKED_ POST_ "Transfer-Encoding: chunked\r\n\r\n"
#define BAD(name, bytes) {name, {bytes, sizeof(bytes) - 1}, 400, ""}
#define BADX(name, bytes, status) {name, {bytes, sizeof(bytes) - 1}, status, ""}
#define GOOD(name, bytes, seen) {name, {bytes, sizeof(bytes) - 1}, 0, seen}
#define AFTER(name, bytes, seen) {name, {bytes, sizeof(bytes) - 1}, 400, seen}

static const struct http_vector http_vectors[] = {
    /* Content-Length */
    GOOD("length", POST_ "Content-Length: 5\r\n\r\nhello", "POST /a hello|"),
    GOOD("length zero", POST_ "Content-Length: 0\r\n\r\n", "POST /a |"),
    BAD("length empty", POST_ "Content-Length:\r\n\r\nhello"),
    BAD("length plus", POST_ "Content-Length: +1\r\n\r\nh"),
    BAD("length minus", POST_ "Content-Length: -1\r\n\r\nh"),
    BAD("length hex", POST_ "Content-Length: 0x10\r\n\r\n0123456789abcdef"),
    BAD("length octal", POST_ "Content-Length: 010\r\n\r\n01234567"),
    BAD("length underscore", POST_ "Content-Length: 1_0\r\n\r\n0123456789"),
    BAD("length letter", POST_ "Content-Length: 1Z\r\n\r\nh"),
    GOOD("length blanks around", POST_ "Content-Length:   1  \r\n\r\nh", "POST /a h|"),
    BAD("length blank inside", POST_ "Content-Length: 1 1\r\n\r\nhhhhhhhhhhh"),
    BADX("length 2^63", POST_ "Content-Length: 9223372036854775808\r\n\r\nh", 413),
    BAD("length 2^64", POST_ "Content-Length: 18446744073709551616\r\n\r\nh"),
    BAD("length twice equal", POST_ "Content-Length: 1\r\nContent-Length: 1\r\n\r\nh"),
    BAD("length twice", POST_ "Content-Length: 1\r\nContent-Length: 2\r\n\r\nhh"),
    BAD("length empty then valid", POST_ "Content-Length: \r\nContent-Length: 1\r\n\r\nh"),
    BAD("length list", POST_ "Content-Length: 5,5\r\n\r\nhello"),
    BAD("length and chunked",
         POST_ "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    BAD("chunked and length",
         POST_ "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
    BAD("length twin", POST_ "Content_Length: 5\r\nContent-Length: 1\r\n\r\nh"),
    BAD("encoding twin", POST_ "Transfer_Encoding: chunked\r\n\r\n"),
    BADX("length over the limit", POST_ "Content-Length: 3145729\r\n\r\n", 413),

    /* Transfer-Encoding */
    GOOD("chunked", CHUNKED_ "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "POST /a hello world|"),
    GOOD("chunked any case",
         POST_ "transfer-encoding: Chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", "POST /a x|"),
    BAD("encoding comma first", POST_ "Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n"),
    BAD("encoding comma last", POST_ "Transfer-Encoding: chunked,\r\n\r\n0\r\n\r\n"),
    BAD("chunked twice in one", POST_ "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
    BAD("chunked twice",
         POST_ "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    BAD("xchunked", POST_ "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
    BAD("chunked with q", POST_ "Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n"),
    BAD("identity", POST_ "Transfer-Encoding: identity\r\n\r\n"),
    BAD("gzip, chunked", POST_ "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    BAD("chunked, gzip", POST_ "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n"),
    BAD("encoding folded", POST_ "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"),
    BAD("encoding with VT", POST_ "Transfer-Encoding: \x0b" "chunked\r\n\r\n0\r\n\r\n"),
    BAD("encoding with NBSP", POST_ "Transfer-Encoding: \xa0" "chunked\r\n\r\n0\r\n\r\n"),
    BAD("chunked in HTTP/1.0",
         "POST /a HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    BAD("encoding empty", POST_ "Transfer-Encoding:\r\n\r\n"),

    /* chunks */
    BAD("size empty", CHUNKED_ "\r\nx\r\n0\r\n\r\n"),
    BAD("size 0x1", CHUNKED_ "0x1\r\nx\r\n0\r\n\r\n"),
    BAD("size +1", CHUNKED_ "+1\r\nx\r\n0\r\n\r\n"),
    BAD("size -0", CHUNKED_ "-0\r\n\r\n"),
    BAD("size 1_0", CHUNKED_ "1_0\r\n0123456789abcdef\r\n0\r\n\r\n"),
    BAD("size blank first", CHUNKED_ " 1\r\nx\r\n0\r\n\r\n"),
    BAD("size blank last", CHUNKED_ "1 \r\nx\r\n0\r\n\r\n"),
    BAD("size overflow", CHUNKED_ "10000000000000001\r\nx\r\n0\r\n\r\n"),
    BAD("size garbage", CHUNKED_ "1g\r\nx\r\n0\r\n\r\n"),
    BAD("size bare LF", CHUNKED_ "1\nx\r\n0\r\n\r\n"),
    BAD("size CR X", CHUNKED_ "1\rXx\r\n0\r\n\r\n"),
    BAD("data bare LF", CHUNKED_ "1\r\nx\n0\r\n\r\n"),
    BAD("data too long", CHUNKED_ "1\r\nxX\r\n0\r\n\r\n"),
    BAD("data CRLF XX", CHUNKED_ "1\r\nx\r\nXX0\r\n\r\n"),
    BAD("extra CRLF before the last", CHUNKED_ "1\r\nx\r\n\r\n0\r\n\r\n"),
    BAD("CR in extension", CHUNKED_ "1;a=\rb\r\nx\r\n0\r\n\r\n"),
    GOOD("extension", CHUNKED_ "1;a=b\r\nx\r\n0\r\n\r\n", "POST /a x|"),
    BAD("end without LF", CHUNKED_ "0\r\n\rX"),
    GOOD("trailer dropped", CHUNKED_ "1\r\nx\r\n0\r\nX-Sum: 1\r\n\r\n", "POST /a x|"),
    BAD("trailer length", CHUNKED_ "1\r\nx\r\n0\r\nContent-Length: 5\r\n\r\n"),
    BAD("trailer encoding", CHUNKED_ "1\r\nx\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n"),
    BAD("trailer host", CHUNKED_ "1\r\nx\r\n0\r\nHost: other\r\n\r\n"),
    BAD("trailer authorization", CHUNKED_ "1\r\nx\r\n0\r\nauthorization: Bearer x\r\n\r\n"),

    /* line ends */
    BAD("bare LF", "GET /a HTTP/1.1\nHost: h\n\n"),
    BAD("bare LF after a header", "GET /a HTTP/1.1\r\nHost: h\nX: y\r\n\r\n"),
    BAD("bare LF at the end", GET_ "\n"),
    BAD("bare CR", "GET /a HTTP/1.1\rHost: h\r\r"),
    BAD("bare CR in a value", GET_ "X: a\rb\r\n\r\n"),
    BAD("CR CR LF", "GET /a HTTP/1.1\r\r\nHost: h\r\n\r\n"),
    BAD("folded", GET_ "X: a\r\n b\r\n\r\n"),
    BAD("folded with tab", GET_ "X: a\r\n\tb\r\n\r\n"),
    BAD("end CR X", GET_ "\rX"),
    BAD("LF as blank", "GET\n/a HTTP/1.1\r\nHost: h\r\n\r\n"),
    GOOD("empty line first", "\r\n" GET_ "\r\n", "GET /a |"),

    /* names */
    BAD("name empty", GET_ ": x\r\n\r\n"),
    BAD("blank before colon", GET_ "X : y\r\n\r\n"),
    BAD("blank at first header", "GET /a HTTP/1.1\r\n Host: h\r\n\r\n"),
    BAD("no colon", GET_ "X\r\n\r\n"),
    BAD("control in name", GET_ "X\x01: y\r\n\r\n"),
    BAD("NUL in name", GET_ "X\0: y\r\n\r\n"),
    BAD("x85 in name", GET_ "X\x85: y\r\n\r\n"),
    BAD("NBSP in name", GET_ "X\xa0: y\r\n\r\n"),
    BAD("UTF-8 in name", GET_ "X\xc3\xa9: y\r\n\r\n"),
    BAD("bracket in name", GET_ "X(y): y\r\n\r\n"),

    /* values */
    BAD("NUL in value", GET_ "X: a\0b\r\n\r\n"),
    BAD("DEL in value", GET_ "X: a\x7f\r\n\r\n"),
    BAD("control in value", GET_ "X: a\x02\r\n\r\n"),
    GOOD("value empty", GET_ "X:\r\n\r\n", "GET /a |"),
    GOOD("value tab", GET_ "X: a\tb\r\n\r\n", "GET /a |"),

    /* request line */
    BAD("method lower case", "get /a HTTP/1.1\r\nHost: h\r\n\r\n"),
    BAD("method with separator", "GE(T /a HTTP/1.1\r\nHost: h\r\n\r\n"),
    BAD("method unknown", "GRAB /a HTTP/1.1\r\nHost: h\r\n\r\n"),
    BADX("version 1.32", "GET /a HTTP/1.32\r\nHost: h\r\n\r\n", 505),
    BADX("version 1.", "GET /a HTTP/1.\r\nHost: h\r\n\r\n", 505),
    BADX("version 2.0", "GET /a HTTP/2.0\r\nHost: h\r\n\r\n", 505),
    BADX("version 0.9", "GET /a HTTP/0.9\r\nHost: h\r\n\r\n", 505),
    BADX("version overflow", "GET /a HTTP/4294967297.1\r\nHost: h\r\n\r\n", 505),
    BAD("version name", "GET /a HTTQ/1.1\r\nHost: h\r\n\r\n"),
    BADX("HTTP/2 preface, but for the last letter", "PRI * HTTP/2.0\r\n\r\nSM\r\n\rN", 505),
    GOOD("two blanks", "GET  /a HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a |"),
    BAD("blank in target", "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n"),
    BAD("fragment", "GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n"),
    BAD("backslash", "GET /a\\b HTTP/1.1\r\nHost: h\r\n\r\n"),
    BAD("encoded NUL", "GET /a%00 HTTP/1.1\r\nHost: h\r\n\r\n"),
    BAD("encoding cut", "GET /a%2 HTTP/1.1\r\nHost: h\r\n\r\n"),
    BAD("encoding not hex", "GET /a%zz HTTP/1.1\r\nHost: h\r\n\r\n"),
    GOOD("encoded slash stays",
         "GET /a%2fb?c=%2F HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a%2fb?c=%2F |"),
    BAD("empty segment", "GET //a HTTP/1.1\r\nHost: h\r\n\r\n"),
    BAD("empty segment inside", "GET /a//b HTTP/1.1\r\nHost: h\r\n\r\n"),
    BAD("dot", "GET /a/./b HTTP/1.1\r\nHost: h\r\n\r\n"),
    BAD("dot dot", "GET /a/../b HTTP/1.1\r\nHost: h\r\n\r\n"),
    BAD("dot dot last", "GET /a/.. HTTP/1.1\r\nHost: h\r\n\r\n"),
    BAD("dot dot encoded", "GET /a/%2e%2E/b HTTP/1.1\r\nHost: h\r\n\r\n"),
    GOOD("dots in a name", "GET /a/..b/c... HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a/..b/c... |"),
    GOOD("slash last", "GET /apis/ HTTP/1.1\r\nHost: h\r\n\r\n", "GET /apis/ |"),
    GOOD("slashes in the query", "GET /a?b=//../ HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a?b=//../ |"),
    BAD("overlong UTF-8", "GET /a%c0%af HTTP/1.1\r\nHost: h\r\n\r\n"),
    BAD("surrogate", "GET /a%ed%a0%80 HTTP/1.1\r\nHost: h\r\n\r\n"),
    BAD("UTF-8 cut", "GET /a%c3 HTTP/1.1\r\nHost: h\r\n\r\n"),
    GOOD("UTF-8 encoded", "GET /a%C3%A9 HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a%C3%A9 |"),
    BAD("raw UTF-8", "GET /a\xc3\xa9 HTTP/1.1\r\nHost: h\r\n\r\n"),
    BAD("no slash", "GET a HTTP/1.1\r\nHost: h\r\n\r\n"),
    BAD("star with GET", "GET * HTTP/1.1\r\nHost: h\r\n\r\n"),
    GOOD("star", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", "OPTIONS * |"),
    GOOD("absolute", "GET http://h/a HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a |"),
    GOOD("absolute without path", "GET http://h HTTP/1.1\r\nHost: h\r\n\r\n", "GET / |"),
    BAD("absolute, other host", "GET http://x/a HTTP/1.1\r\nHost: h\r\n\r\n"),
    BAD("absolute with user", "GET http://u@h/a HTTP/1.1\r\nHost: h\r\n\r\n"),
    BAD("absolute, other scheme", "GET ftp://h/a HTTP/1.1\r\nHost: h\r\n\r\n"),
    BADX("connect", "CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n", 405),
    BAD("no host", "GET /a HTTP/1.1\r\n\r\n"),
    BAD("two hosts", GET_ "Host: h\r\n\r\n"),
    BAD("host empty", "GET /a HTTP/1.1\r\nHost:\r\n\r\n"),
    BAD("host with user", "GET /a HTTP/1.1\r\nHost: u@h\r\n\r\n"),
    BAD("host with path", "GET /a HTTP/1.1\r\nHost: h/b\r\n\r\n"),
    BAD("host bad port", "GET /a HTTP/1.1\r\nHost: h:x\r\n\r\n"),
    GOOD("host with port", "GET /a HTTP/1.1\r\nHost: [::1]:6443\r\n\r\n", "GET /a |"),
    GOOD("HTTP/1.0 without host", "GET /a HTTP/1.0\r\n\r\n", "GET /a |"),

    /* pipelining and reuse */
    GOOD("two at once", GET_ "\r\n" "GET /b HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a |GET /b |"),
    GOOD("two with bodies",
         POST_ "Content-Length: 1\r\n\r\nx" CHUNKED_ "1\r\ny\r\n0\r\n\r\n" GET_ "\r\n",
         "POST /a x|POST /a y|GET /a |"),
    GOOD("a request in a GET's body",
         GET_ "Content-Length: 35\r\n\r\n" "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n" GET_ "\r\n",
         "GET /a GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n|GET /a |"),
    GOOD("a DELETE with a body",
         "DELETE /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}" GET_ "\r\n",
         "DELETE /a {}|GET /a |"),
    AFTER("garbage after a message", GET_ "\r\n" "garbage\r\n\r\n", "GET /a |"),
    AFTER("bytes beyond the body", POST_ "Content-Length: 1\r\n\r\nxyz\r\n\r\n", "POST /a x|"),
    GOOD("after close nothing counts", GET_ "Connection: close\r\n\r\n" GET_ "\r\n", "GET /a |"),
    GOOD("upgrade not offered",
         GET_ "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n" GET_ "\r\n", "GET /a |GET /a |"),
    GOOD("upgrade with a body",
         POST_ "Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\n"
         "hi" GET_ "\r\n",
         "POST /a hi|GET /a |"),
    BADX("expect unknown", POST_ "Expect: 200-maybe\r\nContent-Length: 1\r\n\r\nx", 417),
    GOOD("expect continue",
         POST_ "Expect: 100-continue\r\nContent-Length: 1\r\n\r\nx", "POST /a x|"),
    GOOD("expect without body", GET_ "Expect: 100-continue\r\n\r\n", "GET /a |"),
};

enum { HTTP_VECTORS = sizeof(http_vectors) / sizeof(*http_vectors) };

/* clang-format on */

#endif
