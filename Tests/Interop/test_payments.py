# Payments by Stripe's API as others have rebuilt it: localstripe takes the calls and sends the signed notifications.
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from datetime import datetime, timedelta, timezone
from urllib.parse import urlencode
from urllib.request import Request, urlopen

try:
    from message_peers import MailServer, remove
except ImportError as missing:  # an older virtual environment
    raise unittest.SkipTest(f"{missing}: pip install -r Tests/Interop/requirements.txt") from missing
import organisations
from people import Person, call
from running_suite import Suite, await_until, free_ports

LIMIT_S = 60
PRICES = {"currency": "EUR", "perRequest": 500, "usual": {"seconds": 20, "minutes": 10, "hours": 5}, "types": {}, "rebates": [],
          "taxBasisPoints": 2200}


def write_secret(folder, name, text):
    path = os.path.join(folder, name)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.write(text + "\n")
    return path


class LocalStripe:
    """localstripe on a port of its own, with its state in memory alone."""

    KEY, WEBHOOK_SECRET = "sk_test_" + secrets.token_hex(8), "whsec_" + secrets.token_hex(16)

    def __init__(self, folder):
        self.port = free_ports(1)[0]
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = open(os.path.join(folder, "localstripe.log"), "wb")
        self.program = subprocess.Popen(
            [sys.executable, "-m", "localstripe", "--port", str(self.port), "--from-scratch"], stdout=self.log, stderr=self.log)
        await_until("localstripe listens", 20, lambda: self.get("/v1/payment_methods?customer=none", wants=None) is not None)

    def get(self, path, wants=200):
        try:
            with urlopen(Request(self.url + path, headers={"Authorization": f"Bearer {self.KEY}"}), timeout=10) as answer:
                return json.load(answer)
        except OSError as refusal:
            if wants is None:
                return {} if hasattr(refusal, "code") else None
            raise

    def post(self, path, **fields):
        request = Request(
            self.url + path, data=urlencode(fields).encode(), method="POST", headers={"Authorization": f"Bearer {self.KEY}"})
        with urlopen(request, timeout=10) as answer:
            content = answer.read()
        return json.loads(content) if content else None

    def send_notifications_to(self, url):
        body = json.dumps({"url": url, "secret": self.WEBHOOK_SECRET}).encode()
        request = Request(f"{self.url}/_config/webhooks/gateway", data=body, method="POST", headers={"Content-Type": "application/json"})
        urlopen(request, timeout=10).close()

    def card(self, number="4242424242424242"):
        return self.post("/v1/payment_methods", **{
            "type": "card", "card[number]": number, "card[exp_month]": "12", "card[exp_year]": "2040", "card[cvc]": "123"})["id"]

    def intents(self):
        return self.get("/v1/payment_intents?limit=100")["data"]

    def succeeded(self):
        return [intent for intent in self.intents() if intent["status"] == "succeeded"]

    def refunds(self):
        return self.get("/v1/refunds?limit=100")["data"]

    def stop(self):
        self.program.terminate()
        self.program.wait(timeout=20)
        self.log.close()


class Payments(unittest.TestCase):
    """One suite with its gateway, one organisation, people who accept, and localstripe."""

    @classmethod
    def setUpClass(cls):
        for name in ("trackme", "thirdparty-gateway"):
            if not os.access(Suite.executable(name), os.X_OK):
                raise unittest.SkipTest(f"no {Suite.executable(name)}: build first, or name the folder in TRACKME_BUILD")
        cls.folder = tempfile.mkdtemp(prefix="pay-", dir="/tmp")
        cls.addClassCleanup(remove, cls.folder)
        cls.mail = MailServer(cls.folder)
        cls.mail.start()
        cls.addClassCleanup(cls.mail.stop)
        cls.stripe = LocalStripe(cls.folder)
        cls.addClassCleanup(cls.stripe.stop)
        cls.suite = Suite({
            "TRACKME_NOTIFY_SMTP_URL": f"smtp://localhost:{cls.mail.port}", "TRACKME_NOTIFY_SMTP_USER": cls.mail.USER,
            "TRACKME_NOTIFY_SMTP_PASSWORD": write_secret(cls.folder, "smtp", cls.mail.PASSWORD),
            "TRACKME_NOTIFY_SMTP_AUTHORITIES": cls.mail.certificate, "TRACKME_NOTIFY_FROM": "trackme@suite.example",
            "TRACKME_PAY_STRIPE_URL": cls.stripe.url, "TRACKME_PAY_STRIPE_SECRET": write_secret(cls.folder, "stripe", cls.stripe.KEY),
            "TRACKME_PAY_STRIPE_WEBHOOK_SECRET": write_secret(cls.folder, "hook", cls.stripe.WEBHOOK_SECRET),
            # Notifications alone must do, where the test waits for them.
            "TRACKME_PAY_LOOK_S": "3600",
        }, gateway=True)
        cls.addClassCleanup(cls.suite.close)
        cls.suite.await_ready()
        cls.stripe.send_notifications_to(f"{cls.suite.gateway_url}/thirdparty/v1/providers/stripe/events")
        prices = os.path.join(cls.folder, "prices.json")
        with open(prices, "w", encoding="utf-8") as file:
            json.dump(PRICES, file)
        cls.suite.trackme("prices", "set", prices)
        cls.token = organisations.register(cls.suite, cls.confirm)

    @classmethod
    def api(cls, method, path, body=None, token=True):
        return call(method, f"{cls.suite.gateway_url}/thirdparty/v1/{path}", body, cls.token if token else None)

    @classmethod
    def confirm(cls, _):
        link = await_until("the link is mailed", LIMIT_S, lambda: cls.mailed(r"/thirdparty/v1/organisations/confirm/(\S+)"))
        status, done, _ = cls.api("POST", "organisations/confirmations", {"token": link}, token=False)
        assert status == 200, (status, done)

    @classmethod
    def mailed(cls, pattern):
        """What the pattern holds in the newest mail that it is in."""
        for _, _, mail in reversed(cls.mail.mails):
            body = mail.get_body(("plain",))
            if body and (found := re.search(pattern, body.get_content())):
                return found[1] if found.groups() else found[0]
        return None

    def accepted_request(self):
        """A request that its person has accepted, with its payment, which is due."""
        person = Person.register(self.suite)
        now = datetime.now(timezone.utc)
        status, made, _ = self.api("POST", "requests", {
            "fiscalCode": person.form["fiscalCode"], "types": ["heart-rate"], "granularity": "minutes", "purpose": "Study of hearts",
            "from": (now - timedelta(days=1)).isoformat(timespec="milliseconds"), "to": now.isoformat(timespec="milliseconds")})
        self.assertEqual(status, 201, made)
        request = made["request"]
        status, answered, _ = person.consent("POST", f"/consent/v1/requests/{request}/answer", {"answer": "accept"})
        self.assertEqual(status, 200, answered)
        payment = await_until("the amount is due", LIMIT_S, lambda: self.payment_of(request, "due"))
        return person, request, payment["payment"]

    def payment_of(self, request, status=None):
        code, page, _ = self.api("GET", f"payments?request={request}")
        self.assertEqual(code, 200, page)
        return next((item for item in page["items"] if status in (None, item["status"])), None)

    def pay(self, payment, **body):
        return self.api("POST", f"payments/{payment}/attempts", {"method": "card"} | body)

    def test_a_request_is_paid_by_card_once(self):
        """PAY-02 to PAY-06, PAY-09"""
        charged = len(self.stripe.succeeded())
        _, request, payment = self.accepted_request()
        status, shown, _ = self.api("GET", f"payments/{payment}")
        self.assertTrue(shown["isFeasible"], shown)
        self.assertEqual(shown["amount"], {"minor": 622, "currency": "EUR", "decimal": "6.22"})
        status, refused, _ = self.api("GET", f"requests/{request}/data?type=heart-rate")
        self.assertEqual((status, refused["type"]), (402, "urn:trackme:problem:payment-outstanding"))
        card = self.stripe.card()
        status, paid, _ = self.pay(payment, paymentMethod=card)
        self.assertEqual((status, paid["status"]), (200, "paid"), paid)
        status, again, _ = self.pay(payment, paymentMethod=card)
        self.assertEqual((status, again["status"]), (200, "paid"), again)
        self.assertEqual(len(self.stripe.succeeded()), charged + 1)
        intent = next(intent for intent in self.stripe.succeeded() if intent["metadata"].get("payment") == payment)
        self.assertEqual((intent["amount"], intent["currency"]), (622, "eur"))
        status, invoice, _ = self.api("GET", f"invoices/{paid['invoice']}")
        self.assertEqual((status, invoice["request"], invoice["total"]["minor"]), (200, request, 622))
        await_until("receipt and invoice are mailed", LIMIT_S, lambda: self.mailed(paid["invoice"]))
        self.assertNotEqual(self.api("GET", f"requests/{request}/data?type=heart-rate")[0], 402)

    def test_a_declined_card_costs_nothing_and_says_why(self):
        """PAY-05"""
        _, _, payment = self.accepted_request()
        charged = len(self.stripe.succeeded())
        # localstripe refuses 4000000000000002 only where a card is attached to a customer.
        status, declined, _ = self.pay(payment, paymentMethod=self.stripe.card("4000000000000341"))
        self.assertEqual((status, declined.get("type")), (402, "urn:trackme:problem:payment-declined"), declined)
        self.assertIn("card-declined", declined["detail"].replace("_", "-"))
        self.assertEqual(self.api("GET", f"payments/{payment}")[1]["status"], "due")
        status, paid, _ = self.pay(payment, paymentMethod=self.stripe.card())
        self.assertEqual((status, paid["status"]), (200, "paid"), paid)
        self.assertEqual(len(self.stripe.succeeded()), charged + 1)

    def test_a_payer_who_acts_at_the_handler_is_told_of_by_a_signed_notification(self):
        """PAY-05: the card needs its holder, who proves it in the payer's own program"""
        _, _, payment = self.accepted_request()
        status, waiting, _ = self.pay(payment, paymentMethod=self.stripe.card("4000002500003155"))
        self.assertEqual((status, waiting["status"], waiting["attempt"]["state"]), (200, "due", "open"), waiting)
        secret = waiting["step"]["clientSecret"]
        self.stripe.post(f"/v1/payment_intents/{secret.split('_secret_')[0]}/_authenticate", client_secret=secret, success="true")
        await_until("the notification pays", LIMIT_S, lambda: self.api("GET", f"payments/{payment}")[1]["status"] == "paid")

    def test_forged_notifications_are_refused(self):
        """PAY-09"""
        body = {"type": "payment_intent.succeeded", "data": {"object": {"id": "pi_x", "status": "succeeded"}}}
        url = f"{self.suite.gateway_url}/thirdparty/v1/providers/stripe/events"
        for header in ({}, {"Stripe-Signature": f"t={int(time.time())},v1={'00' * 32}"}):
            self.assertEqual(call("POST", url, body, headers=header)[0], 400)

    def test_what_is_withdrawn_before_a_delivery_goes_back(self):
        """PAY-09, CON-21"""
        person, request, payment = self.accepted_request()
        self.assertEqual(self.pay(payment, paymentMethod=self.stripe.card())[1]["status"], "paid")
        refunds = len(self.stripe.refunds())
        grant = person.consent("GET", f"/consent/v1/requests/{request}")[1]["grant"]
        self.assertEqual(person.consent("DELETE", f"/consent/v1/grants/{grant}")[0], 200)
        back = await_until("it goes back", LIMIT_S, lambda: self.payment_of(request, "refunded"))
        self.assertEqual(len(self.stripe.refunds()), refunds + 1)
        status, note, _ = self.api("GET", f"invoices/{back['creditNote']}")
        self.assertEqual((status, note["kind"], note["takesBack"]), (200, "credit-note", back["invoice"]))

    def test_the_gateway_is_killed_while_it_pays(self):
        """PAY-09: kill -9 between the call and its answer; localstripe forgets idempotency keys, so that a second charge would show"""
        for _ in range(3):
            _, _, payment = self.accepted_request()
            charged = len(self.stripe.succeeded())
            card = self.stripe.card()
            # The kernel keeps fifteen characters of a program's name.
            killing = threading.Timer(secrets.randbelow(30) / 1000, self.suite.kill_service, ["thirdparty-gateway"[:15]])
            killing.start()
            try:
                self.pay(payment, paymentMethod=card)
            except OSError:
                pass  # it was killed before its answer
            killing.join()
            self.suite.await_ready()
            # What was asked for before the kill is carried to its end; what was not is asked for again.
            def is_paid():
                try:
                    return self.pay(payment, paymentMethod=card)[1].get("status") == "paid"
                except OSError:
                    return False
            await_until("it is paid", LIMIT_S, is_paid)
            self.assertEqual(len(self.stripe.succeeded()), charged + 1)


if __name__ == "__main__":
    unittest.main()
