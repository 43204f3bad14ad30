"""protobuf: the wire format, read and written with numbers that the test states itself."""
import struct


def read(data):
    """[(number, value)]: an int, or bytes."""
    out, i = [], 0
    while i < len(data):
        key, i = varint(data, i)
        if key & 7 == 0:
            v, i = varint(data, i)
        elif key & 7 == 1:
            v, i = struct.unpack("<d", data[i:i + 8])[0], i + 8
        elif key & 7 == 2:
            n, i = varint(data, i)
            if i + n > len(data):
                raise ValueError("cut off")
            v, i = data[i:i + n], i + n
        else:
            raise ValueError(f"wire type {key & 7}")
        out.append((key >> 3, v))
    return out


def varint(data, i):
    v = shift = 0
    while True:
        v |= (data[i] & 127) << shift
        shift += 7
        i += 1
        if data[i - 1] < 128:
            return v, i


def one(data, *path):
    """The value at a path of numbers: the last of each; None when it is absent."""
    for number in path:
        found = [v for n, v in read(data) if n == number]
        if not found:
            return None
        data = found[-1]
    return data


def every(data, number):
    return [v for n, v in read(data) if n == number]


def put(number, value):
    if isinstance(value, int):
        return key(number << 3) + key(value)
    if isinstance(value, str):
        value = value.encode()
    return key(number << 3 | 2) + key(len(value)) + value


def key(v):
    out = b""
    while v >= 128:
        out, v = out + bytes([v & 127 | 128]), v >> 7
    return out + bytes([v])


def envelope(api, kind, raw):
    return b"k8s\0" + put(1, put(1, api) + put(2, kind)) + put(2, raw) + put(3, "") + put(4, "")


def opened(body):
    """(apiVersion, kind, message) of an answer."""
    if body[:4] != b"k8s\0":
        raise ValueError(f"no envelope: {body[:40]!r}")
    e = body[4:]
    return one(e, 1, 1).decode(), one(e, 1, 2).decode(), one(e, 2)
