"""Bodies in JSON that are made to exhaust a reader's stack, memory or time."""

NUMBERS = {
    "a huge whole number": b"9" * 4_000,
    "a longer one than Python reads": b"9" * 40_000,
    "more than a float has": b"1e999",
    "not a number": b"NaN",
    "infinity": b"-Infinity",
}
BODIES = {
    "nothing": b"",
    "no JSON": b"{",
    "no text": b"\xff\xfe",
    "half a pair": b'"\\ud800"',
    "deep lists": b"[" * 20_000 + b"]" * 20_000,
    "deep objects": b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
    "less deep": b"[" * 900 + b"]" * 900,
    "brackets alone": b"[" * 30_000,
    "many lists": b"[" + b"[]," * 10_000 + b"[]]",
    "many fields": b"{" + b",".join(b'"a%d":1' % n for n in range(3_000)) + b"}",
    "a long name": b'{"' + b"a" * 20_000 + b'":1}',
    "a name of control characters": b'{"\\u0000\\n\\r\\u001b[2J":1}',
    **{f"only {what}": number for what, number in NUMBERS.items()},
}


def objects_with(*fields):
    """Return an object for each field and each value that the field cannot have."""
    values = {
        **NUMBERS,
        "deep": b"[" * 900 + b"]" * 900,
        "an object": b'{"a":{"b":[1,2,3]}}',
        "nothing": b"null",
        "a long text": b'"' + b"x" * 20_000 + b'"',
        "lines": b'"a\\nb\\u0000\\ud800"',
        "a list of texts": b'["x","y"]',
    }
    return {
        f"{field}: {what}": b'{"%b":%b}' % (field.encode(), value)
        for field in fields
        for what, value in values.items()
    }
