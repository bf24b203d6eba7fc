"""How schemathesis writes the media types that it does not know: lines of JSON, and recordings as plain text."""
import json

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    values = value if isinstance(value, list) else [value]
    return "\n".join(json.dumps(one) for one in values).encode()
