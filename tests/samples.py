"""Files as people send them, made on the spot: as small as they may be and still what they say."""

from __future__ import annotations

import struct
import zlib

JPEG_HEAD = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"


def png(width=4, height=4, padding=0):
    """A picture of one colour; `padding` bytes of a comment make it as heavy as wanted."""
    row = b"\0" + b"\x7f" * width
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        (b"tEXt", b"Comment\0" + b"x" * padding),
        (b"IDAT", zlib.compress(row * height)),
        (b"IEND", b""),
    ]
    parts = (
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def jpeg(width=640, height=480):
    """The head of a photo, with a camera's remarks before its size."""
    remarks = b"\xff\xe1\x00\x0a" + b"Exif\0\0\0\0"
    frame = (
        b"\xff\xc0\x00\x11\x08"
        + struct.pack(">HH", height, width)
        + b"\x03\x01\x22\x00\x02\x11\x01\x03\x11\x01"
    )
    return JPEG_HEAD + remarks + frame + b"\xff\xd9"


def gif(width=10, height=20):
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\x00\x00\x00;"


def webp(width=30, height=40, kind=b"VP8X"):
    body = {
        b"VP8X": b"\0" * 4 + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"),
        b"VP8L": b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14),
        b"VP8 ": b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height),
    }[kind]
    return (
        b"RIFF"
        + struct.pack("<I", 12 + len(body))
        + b"WEBP"
        + kind
        + struct.pack("<I", len(body))
        + body
    )


def pdf(pages=1, *, packed=False):
    """A document; `packed` describes its pages in a compressed stream, as newer writers do."""
    marks = b"\n".join(b"<< /Type /Page /Parent 2 0 R >>" for _ in range(pages))
    if packed:
        stream = zlib.compress(marks)
        marks = (
            b"4 0 obj << /Type /ObjStm /N 1 /Filter /FlateDecode >>\nstream\n"
            + stream
            + b"\nendstream endobj"
        )
    return b"%PDF-1.7\n2 0 obj << /Type /Pages /Count 1 >> endobj\n" + marks + b"\n%%EOF"


def sent(kind="picture", number=1, *, name="", size=100, **more):
    """The block of a file that was sent."""
    file = {"type": "file", "kind": kind, "file_id": f"F{number}", "unique_id": f"U{number}"}
    return {**file, "name": name, "bytes": size, **more}
