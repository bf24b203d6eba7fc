# Messages through systems that others have made: mail to aiosmtpd over STARTTLS, SMS through Kannel with its fake SMS centre.
import json
import os
import re
import secrets
import subprocess
import tempfile
import time
import unittest

import zmq

try:
    from message_peers import Kannel, MailServer, missing_kannel, remove
except ImportError as missing:  # an older virtual environment
    raise unittest.SkipTest(f"{missing}: pip install -r Tests/Interop/requirements.txt") from missing
from running_suite import Suite, await_until, free_ports
from stream_follower import Connection, Questions, Unavailable

# How long both are down; a minute in the acceptance run.
DOWN_S = float(os.environ.get("TRACKME_DOWN_S", "6"))
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def identifier(prefix):
    return f"{prefix}_{secrets.choice(ALPHABET[:8])}" + "".join(secrets.choice(ALPHABET) for _ in range(25))


def make_peer(keys, name):
    public, secret = zmq.curve_keypair()
    os.makedirs(os.path.join(keys, "public"), mode=0o755, exist_ok=True)
    os.makedirs(os.path.join(keys, name), mode=0o700, exist_ok=True)
    with open(os.path.join(keys, "public", f"{name}.json"), "w", encoding="utf-8") as file:
        json.dump({"peer": name, "key": public.decode()}, file)
    write_secret(os.path.join(keys, name, "bus.secret"), secret.decode())


def write_secret(path, text):
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.write(text + "\n")
    return path


class Messages(unittest.TestCase):
    """One notifier, one mail server, one Kannel; Python plays consent on the bus."""

    @classmethod
    def setUpClass(cls):
        executable = Suite.executable("notifier")
        if not os.access(executable, os.X_OK):
            raise unittest.SkipTest(f"no {executable}: build first, or name the folder in TRACKME_BUILD")
        if missing_kannel():
            raise unittest.SkipTest(f"no {', '.join(missing_kannel())}: apt-get install kannel kannel-extras")
        cls.folder = tempfile.mkdtemp(prefix="msg-", dir="/tmp")
        cls.addClassCleanup(remove, cls.folder)
        keys = os.path.join(cls.folder, "keys")
        for peer in ("consent", "notifier"):
            make_peer(keys, peer)
        cls.mail = MailServer(cls.folder)
        cls.addClassCleanup(cls.mail.stop)
        cls.kannel = Kannel(cls.folder)
        cls.addClassCleanup(cls.kannel.stop)
        cls.port = free_ports(1)[0]
        settings = {
            "TRACKME_STORE_DIRECTORY": os.path.join(cls.folder, "store"), "TRACKME_BUS_DIRECTORY": os.path.join(cls.folder, "bus"),
            "TRACKME_BUS_KEYS": keys, "TRACKME_HTTP_PORT": str(cls.port), "TRACKME_NOTIFY_SMTP_URL": f"smtp://localhost:{cls.mail.port}",
            "TRACKME_NOTIFY_SMTP_USER": cls.mail.USER,
            "TRACKME_NOTIFY_SMTP_PASSWORD": write_secret(os.path.join(cls.folder, "smtp.password"), cls.mail.PASSWORD),
            "TRACKME_NOTIFY_SMTP_AUTHORITIES": cls.mail.certificate, "TRACKME_NOTIFY_FROM": "trackme@suite.example",
            "TRACKME_NOTIFY_KANNEL_URL": cls.kannel.url,
            "TRACKME_NOTIFY_KANNEL_PASSWORD": write_secret(os.path.join(cls.folder, "kannel.password"), cls.kannel.PASSWORD),
            "TRACKME_NOTIFY_RETRY_MOST_S": "5", "TRACKME_NOTIFY_UNKNOWN_S": "2", "TRACKME_NOTIFY_PER_RECIPIENT_HOUR": "1000",
        }
        cls.environment = {key: value for key, value in os.environ.items() if not key.startswith("TRACKME_")} | settings
        cls.log = open(os.path.join(cls.folder, "notifier.log"), "wb")
        cls.addClassCleanup(cls.log.close)
        cls.launch()
        cls.addClassCleanup(cls.end)
        bus = os.path.join(cls.folder, "bus")
        connection = Connection(
            keys, "consent", "notifier", f"ipc://{bus}/notify.deliveries.stream", f"ipc://{bus}/notifier.requests")
        await_until("the notifier listens", 20, lambda: os.path.exists(f"{bus}/notifier.requests"))
        cls.questions = Questions(connection)
        cls.mail.start()
        cls.kannel.start()

    @classmethod
    def launch(cls):
        cls.notifier = subprocess.Popen([Suite.executable("notifier")], env=cls.environment, stdout=cls.log, stderr=cls.log)

    @classmethod
    def end(cls):
        cls.notifier.terminate()
        try:
            cls.notifier.wait(timeout=10)
        except subprocess.TimeoutExpired:
            cls.notifier.kill()
            cls.notifier.wait()

    def send(self, recipient, channels, password, language="it"):
        message = identifier("msg")
        self.ask_patiently("send-message", {
            "message": message, "recipient": recipient, "channels": channels, "template": "temporary-password", "language": language,
            "values": {"name": "Zoë Grünwald 日本", "password": password, "hours": "24"}})
        return message

    def ask_patiently(self, method, body):
        """As a sender's outbox does: until there is an answer."""
        def answered():
            try:
                self.questions.ask(method, body)
                return True
            except Unavailable:
                return False
        await_until(f"{method} is answered", 20, answered)

    def states(self, message):
        """A dictionary by channel, which Swift writes as such because channels are strings."""
        return self.questions.ask("read-message", {"message": message})["states"]

    def await_states(self, messages, expected, seconds):
        await_until(f"every message is {expected}", seconds, lambda: all(self.states(one) == expected for one in messages))

    def test_a_mail_is_what_a_mail_should_be(self):
        password = secrets.token_hex(8)
        message = self.send({"mail": "zoe@example.org"}, ["mail"], password)
        self.await_states([message], {"mail": "sent"}, 20)
        sender, to, mail = next(one for one in self.mail.mails if one[2]["Message-ID"] == f"<{message}@suite.example>")
        self.assertEqual((sender, to), ("trackme@suite.example", ("zoe@example.org",)))
        self.assertEqual(mail["Subject"], "La tua password temporanea")
        self.assertEqual(mail["From"].addresses[0].display_name, "TrackMe")
        self.assertEqual(mail["Auto-Submitted"], "auto-generated")
        self.assertLess(abs(mail["Date"].datetime.timestamp() - time.time()), 120)
        text = mail.get_content()
        self.assertTrue(text.startswith("Ciao Zoë Grünwald 日本,"), text)
        self.assertIn(password, text)
        self.assertEqual(mail.defects, [])

    def test_a_text_is_one_sms_and_its_report_comes_back(self):
        password = secrets.token_hex(8)
        message = self.send({"phone": "+393331234567"}, ["sms"], password)
        self.await_states([message], {"sms": "delivered"}, 30)
        given = [text for to, text in self.kannel.messages if password in text]
        self.assertEqual(len(given), 1)
        self.assertIn("TrackMe: password temporanea", re.sub(r"[+]", " ", given[0]))

    def test_the_same_message_again_is_sent_once_and_another_of_its_id_is_refused(self):
        body = {
            "message": identifier("msg"), "recipient": {"mail": "once@example.org"}, "channels": ["mail"], "template": "temporary-password",
            "language": "en", "values": {"name": "Once", "password": secrets.token_hex(8), "hours": "24"}}
        for _ in range(3):
            self.questions.ask("send-message", body)
        self.await_states([body["message"]], {"mail": "sent"}, 20)
        self.questions.ask("send-message", body)
        with self.assertRaisesRegex(Exception, "conflict"):
            self.questions.ask("send-message", body | {"language": "it"})
        self.assertEqual(len([one for one in self.mail.mails if one[1] == ("once@example.org",)]), 1)

    def test_with_both_down_nothing_is_lost_and_nothing_is_sent_twice(self):
        def batch(count):
            return {
                self.send({"mail": f"{password}@example.org", "phone": f"+39333{secrets.randbelow(10**7):07}"}, ["mail", "sms"], password):
                password for password in (secrets.token_hex(8) for _ in range(count))}

        sent = batch(10)
        self.await_states(sent, {"mail": "sent", "sms": "delivered"}, 40)
        self.mail.stop()
        self.kannel.stop()
        down = time.monotonic()
        while time.monotonic() - down < DOWN_S:
            sent |= batch(2)
            time.sleep(DOWN_S / 20)
        waiting = [message for message in sent if self.states(message) == {"mail": "queued", "sms": "queued"}]
        self.assertGreaterEqual(len(waiting), 2 * 10)
        self.mail.start()
        self.kannel.start()
        sent |= batch(10)
        self.await_states(sent, {"mail": "sent", "sms": "delivered"}, 60)
        subjects = [mail["Message-ID"] for _, _, mail in self.mail.mails]
        texts = [text for _, text in self.kannel.messages]
        for message, password in sent.items():
            self.assertEqual(subjects.count(f"<{message}@suite.example>"), 1, message)
            self.assertEqual(sum(password in text for text in texts), 1, message)
        print(f"down for {time.monotonic() - down:.0f} s with {len(waiting)} messages waiting on both channels; "
              f"{len(sent)} mails and {len(sent)} SMS arrived once each")

    def test_a_killed_notifier_loses_nothing_and_repeats_only_the_same_mail(self):
        sent = []
        for _ in range(3):
            sent += [self.send({"mail": f"k{secrets.token_hex(4)}@example.org"}, ["mail"], secrets.token_hex(8)) for _ in range(10)]
            self.notifier.kill()
            self.notifier.wait()
            self.launch()
        self.await_states_patiently(sent, {"mail": "sent"}, 60)
        for message in sent:
            copies = {content for _, _, content in self.mail.raw if f"<{message}@suite.example>".encode() in content}
            self.assertEqual(len(copies), 1, message)

    def await_states_patiently(self, messages, expected, seconds):
        def is_so():
            try:
                return all(self.states(one) == expected for one in messages)
            except Unavailable:  # it is just starting
                return False
        await_until(f"every message is {expected}", seconds, is_so)

    def test_nothing_personal_is_in_the_log(self):
        self.log.flush()
        with open(self.log.name, encoding="utf-8", errors="replace") as file:
            text = file.read()
        for word in ("example.org", "+39333", "Zoë", MailServer.PASSWORD, Kannel.PASSWORD):
            self.assertNotIn(word, text)


if __name__ == "__main__":
    unittest.main()
