# A signed dispatch, checked by libraries that share nothing with the suite: v1 by standardwebhooks, v1a by cryptography.
import base64
import json
import unittest
from datetime import datetime, timezone
from pathlib import Path
from unittest import mock

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

GOLDEN = Path(__file__).parent.parent / "SOSDispatcherTests" / "Golden"
BODY = (GOLDEN / "dispatch-1-alert.json").read_bytes()
SIGNED = json.loads((GOLDEN / "dispatch-1-signed.json").read_text())
HEADERS = {
    "webhook-id": SIGNED["id"],
    "webhook-timestamp": SIGNED["timestamp"],
    "webhook-signature": SIGNED["signatures"],
}


class At(datetime):
    """The clock as it was when the message was sent."""

    @classmethod
    def now(cls, tz=None):
        return datetime.fromtimestamp(int(SIGNED["timestamp"]), tz or timezone.utc)


class SignedDispatch(unittest.TestCase):
    def v1(self, body):
        with mock.patch("standardwebhooks.webhooks.datetime", At):
            return Webhook(SIGNED["secret"]).verify(body, HEADERS)

    def v1a(self, body):
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(SIGNED["publicKey"].removeprefix("whpk_")))
        signature = next(s for s in SIGNED["signatures"].split(" ") if s.startswith("v1a,"))
        content = f'{SIGNED["id"]}.{SIGNED["timestamp"]}.'.encode() + body
        key.verify(base64.b64decode(signature.removeprefix("v1a,")), content)

    def test_v1_is_verified_by_standardwebhooks(self):
        self.assertEqual(self.v1(BODY)["messageId"], SIGNED["id"])

    def test_v1a_is_verified_by_cryptography(self):
        self.v1a(BODY)

    def test_one_changed_byte_is_refused_by_both(self):
        changed = BODY.replace(b'"actual"', b'"system"')
        self.assertNotEqual(changed, BODY)
        with self.assertRaises(WebhookVerificationError):
            self.v1(changed)
        with self.assertRaises(InvalidSignature):
            self.v1a(changed)


if __name__ == "__main__":
    unittest.main()
