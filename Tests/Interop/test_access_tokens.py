# Access tokens, checked by a library that shares nothing with the suite; and tokens that it makes, refused by the suite.
import base64
import json
import time
import unittest
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from joserfc import jwt
from joserfc.errors import BadSignatureError
from joserfc.jwk import KeySet, OctKey, OKPKey, RSAKey
from running_suite import SuiteTestCase

PASSWORD = "una frase che ricordo"


class AccessTokens(SuiteTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        made = json.loads(cls.suite.trackme("operator", "add", "olga@example.org", "--json"))
        _, session = cls.call("POST", "sessions", {"login": "olga@example.org", "password": made["temporaryPassword"]})
        cls.limited = session["accessToken"]
        _, changed = cls.call(
            "PUT", "password", {"old": made["temporaryPassword"], "new": PASSWORD, "newAgain": PASSWORD}, cls.limited)
        cls.token, cls.session, cls.operator = changed["accessToken"], session["session"], made["operator"]
        _, cls.jwks = cls.call("GET", "keys")
        cls.keys = KeySet.import_key_set(cls.jwks)

    @classmethod
    def call(cls, method, path, body=None, token=None):
        """Status and JSON of an answer of consent."""
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"{cls.suite.consent_url}/consent/v1/{path}", data=data, headers=headers, method=method)
        try:
            with urlopen(request, timeout=10) as answer:
                return answer.status, json.load(answer)
        except HTTPError as refusal:
            return refusal.code, json.load(refusal)

    def assert_refused(self, token):
        status, problem = self.call("GET", "sessions", token=token)
        self.assertEqual((401, "urn:trackme:problem:unauthorised"), (status, problem["type"]))

    def claims(self, **changes):
        return jwt.decode(self.token, self.keys, algorithms=["Ed25519", "EdDSA"]).claims | changes

    # Ours, judged by joserfc

    def test_our_token_is_verified_by_the_published_keys(self):
        decoded = jwt.decode(self.token, self.keys, algorithms=["Ed25519", "EdDSA"])
        self.assertEqual({"alg", "kid", "typ"}, set(decoded.header))
        self.assertEqual(("EdDSA", "at+jwt"), (decoded.header["alg"], decoded.header["typ"]))
        rules = jwt.JWTClaimsRegistry(
            iss={"essential": True, "value": self.suite.consent_url}, aud={"essential": True, "value": "trackme"}, exp={"essential": True},
            nbf={"essential": True}, iat={"essential": True}, sub={"essential": True, "value": self.operator}, jti={"essential": True})
        rules.validate(decoded.claims)
        self.assertEqual(600, decoded.claims["exp"] - decoded.claims["iat"])
        self.assertEqual(("operator", self.session), (decoded.claims["kind"], decoded.claims["sid"]))
        self.assertNotIn("scope", decoded.claims)
        self.assertEqual("password-change", jwt.decode(self.limited, self.keys, algorithms=["EdDSA"]).claims["scope"])

    def test_each_key_is_named_by_its_thumbprint(self):
        self.assertTrue(self.jwks["keys"])
        for key in self.jwks["keys"]:
            self.assertEqual({"kty", "crv", "x", "kid", "use", "alg"}, set(key), "and no secret half")
            self.assertEqual(OKPKey.import_key(key).thumbprint(), key["kid"])

    def test_one_changed_byte_is_refused_by_both(self):
        header, payload, signature = self.token.split(".")
        claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
        changed = base64.urlsafe_b64encode(json.dumps(claims | {"kind": "person"}).encode()).decode().rstrip("=")
        forged = f"{header}.{changed}.{signature}"
        with self.assertRaises(BadSignatureError):
            jwt.decode(forged, self.keys, algorithms=["EdDSA"])
        self.assert_refused(forged)

    # joserfc's, judged by us

    def test_the_token_itself_is_taken(self):
        status, sessions = self.call("GET", "sessions", token=self.token)
        self.assertEqual((200, [self.session]), (status, [one["session"] for one in sessions["items"]]))

    def test_a_temporary_password_opens_nothing_else(self):
        status, problem = self.call("GET", "sessions", token=self.limited)
        self.assertEqual((403, "urn:trackme:problem:password-change-required"), (status, problem["type"]))

    def test_another_key_is_refused_under_its_own_and_under_our_name(self):
        stranger = OKPKey.generate_key("Ed25519")
        for kid in (self.jwks["keys"][0]["kid"], stranger.thumbprint(), ""):
            header = {"alg": "EdDSA", "typ": "at+jwt", "kid": kid}
            self.assert_refused(jwt.encode(header, self.claims(), stranger, algorithms=["EdDSA"]))

    def test_other_algorithms_are_refused(self):
        key = self.jwks["keys"][0]
        public = base64.urlsafe_b64decode(key["x"] + "=")
        header = {"typ": "at+jwt", "kid": key["kid"]}
        self.assert_refused(jwt.encode(header | {"alg": "HS256"}, self.claims(), OctKey.import_key(public), algorithms=["HS256"]))
        self.assert_refused(jwt.encode(header | {"alg": "RS256"}, self.claims(), RSAKey.generate_key(2048), algorithms=["RS256"]))
        unsigned = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (header | {"alg": "none"}, self.claims())]
        self.assert_refused(".".join(unsigned) + ".")

    def test_a_key_that_the_token_brings_along_is_not_used(self):
        stranger = OKPKey.generate_key("Ed25519")
        header = {"alg": "EdDSA", "typ": "at+jwt", "kid": "mine", "jwk": stranger.as_dict(private=False)}
        self.assert_refused(jwt.encode(header, self.claims(), stranger, algorithms=["EdDSA"]))

    def test_audience_issuer_and_expiry_by_a_stranger_do_not_help(self):
        stranger = OKPKey.generate_key("Ed25519")
        now = int(time.time())
        for changes in ({"aud": "another"}, {"iss": "https://evil.example"}, {"exp": now - 1}, {"nbf": now + 3600}, {"exp": now + 10**9}):
            header = {"alg": "EdDSA", "typ": "at+jwt", "kid": self.jwks["keys"][0]["kid"]}
            self.assert_refused(jwt.encode(header, self.claims(**changes), stranger, algorithms=["EdDSA"]))

    def test_a_log_out_ends_the_token_at_once(self):
        _, session = self.call("POST", "sessions", {"login": "olga@example.org", "password": PASSWORD})
        status, answer = self.call("DELETE", "sessions/current", token=session["accessToken"])
        self.assertEqual((200, 1), (status, answer["ended"]))
        self.assert_refused(session["accessToken"])
        # It is still signed and in time: only the suite knows that the session has ended.
        jwt.decode(session["accessToken"], self.keys, algorithms=["EdDSA"])


if __name__ == "__main__":
    unittest.main()
