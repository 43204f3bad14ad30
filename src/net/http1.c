/* http1: answers in the form of HTTP/1.1, into what a connection has to send. See http_int.h. */
#include "net/http_private.h"

static const char *reason_of(int status) {
    static const struct {
        int status;
        const char *text;
    } reasons[] = {
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {303, "See Other"},
        {304, "Not Modified"},
        {307, "Temporary Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {421, "Misdirected Request"},
        {422, "Unprocessable Content"},
        {426, "Upgrade Required"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
        if (reasons[i].status == status) {
            return reasons[i].text;
        }
    }
    return "Status";
}

/* The head up to, not including, the line that says how long the body is. */
static void add_head(struct http_request *r, int status, const char *content_type) {
    struct buf *out = &r->conn->plain;
    buf_c(out, "HTTP/1.1 ");
    buf_u64(out, (uint64_t)status);
    buf_ch(out, ' ');
    buf_c(out, reason_of(status));
    buf_c(out, "\r\n");
    buf_c(out, http_server_date(r->conn->server));
    if (content_type) {
        buf_c(out, "Content-Type: ");
        buf_c(out, content_type);
        buf_c(out, "\r\n");
    }
    buf_str(out, buf_view(&r->added));
    if (!r->parse.keep_alive || r->conn->server->stop_at) {
        r->conn->close_after = true;
    }
    if (r->conn->close_after) {
        buf_c(out, "Connection: close\r\n");
    } else if (r->parse.old) {
        buf_c(out, "Connection: keep-alive\r\n");
    }
}

static void answer(struct http_request *r, int status, const char *content_type, struct str body,
                   bool head_only) {
    struct buf *out = &r->conn->plain;
    add_head(r, status, content_type);
    if (status != 204 && status != 304) {
        buf_c(out, "Content-Length: ");
        buf_u64(out, body.n);
        buf_c(out, "\r\n");
    }
    buf_c(out, "\r\n");
    if (!head_only && status != 204 && status != 304) {
        buf_str(out, body);
    }
}

static void begin(struct http_request *r, int status, const char *content_type) {
    r->chunked = !r->parse.old;
    if (!r->chunked) {
        r->conn->close_after = true; /* the end of the connection is the end of the body */
    }
    add_head(r, status, content_type);
    buf_c(&r->conn->plain, r->chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
}

static void write_bytes(struct http_request *r, struct str bytes) {
    struct buf *out = &r->conn->plain;
    if (r->chunked) {
        buf_f(out, "%zx\r\n", bytes.n);
    }
    buf_str(out, bytes);
    if (r->chunked) {
        buf_c(out, "\r\n");
    }
}

static void end(struct http_request *r) {
    if (r->chunked && !http_request_is_head(r)) {
        buf_c(&r->conn->plain, "0\r\n\r\n");
    }
}

static size_t waiting(const struct http_request *r) {
    return http_conn_waiting(r->conn);
}

static void dirty(struct http_request *r) {
    http_conn_dirty(r->conn);
}

static void forget(struct http_request *r) {
    if (r->conn->tcp.data == NULL) {
        http_conn_free_now(r->conn);
    }
}

const struct http_way http1_way = {
    .answer = answer,
    .begin = begin,
    .write = write_bytes,
    .end = end,
    .waiting = waiting,
    .dirty = dirty,
    .forget = forget,
};
