"""The systems at the other end of the notifier, as others have made them: a mail server (aiosmtpd) and Kannel with its fake SMS centre."""
import os
import re
import shutil
import ssl
import subprocess
from email import message_from_bytes, policy

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
from running_suite import await_until, free_ports

FAKE_CENTRE = "/usr/lib/kannel/test/fakesmsc"
PROGRAMS = {"bearerbox": "/usr/sbin/bearerbox", "smsbox": "/usr/sbin/smsbox", "fakesmsc": FAKE_CENTRE}


def missing_kannel():
    return [name for name, path in PROGRAMS.items() if not os.access(path, os.X_OK)]


class MailServer:
    """Takes mail over STARTTLS with a log-in, and nothing without."""

    USER, PASSWORD = "suite", "a password of the mail server"

    def __init__(self, folder):
        self.certificate = os.path.join(folder, "mail.pem")
        key = os.path.join(folder, "mail.key")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
             "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", self.certificate],
            check=True, capture_output=True)
        self.tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.tls.load_cert_chain(self.certificate, key)
        self.port = free_ports(1)[0]
        self.raw = []
        self.controller = None

    async def handle_DATA(self, server, session, envelope):
        self.raw.append((envelope.mail_from, tuple(envelope.rcpt_tos), envelope.content))
        return "250 2.0.0 taken"

    def _authenticate(self, server, session, envelope, mechanism, data):
        return AuthResult(success=data.login == self.USER.encode() and data.password == self.PASSWORD.encode(), handled=False)

    def start(self):
        self.controller = Controller(
            self, hostname="127.0.0.1", port=self.port, tls_context=self.tls, require_starttls=True, auth_required=True,
            authenticator=self._authenticate, decode_data=False)
        self.controller.start()

    def stop(self):
        if self.controller:
            self.controller.stop()
            self.controller = None

    @property
    def mails(self):
        """What was taken, read by Python's own parser of mail."""
        return [(sender, to, message_from_bytes(content, policy=policy.default)) for sender, to, content in list(self.raw)]


class Kannel:
    """bearerbox, smsbox and the fake SMS centre, with ports of their own."""

    USER, PASSWORD = "trackme", "let-me-send"

    def __init__(self, folder):
        self.folder = os.path.join(folder, "kannel")
        os.makedirs(self.folder)
        admin, box, centre, self.port = free_ports(4)
        self.box, self.centre = box, centre
        self.config = os.path.join(self.folder, "kannel.conf")
        with open(self.config, "w", encoding="ascii") as file:
            file.write(f"""
group = core
admin-port = {admin}
admin-interface = 127.0.0.1
admin-password = nobody
smsbox-port = {box}
smsbox-interface = 127.0.0.1
store-type = file
store-location = {self.folder}/store
log-file = {self.folder}/bearerbox.log
log-level = 1

group = smsc
smsc = fake
smsc-id = fake
port = {centre}
connect-allow-ip = 127.0.0.1

group = smsbox
bearerbox-host = 127.0.0.1
sendsms-port = {self.port}
sendsms-interface = 127.0.0.1
log-file = {self.folder}/smsbox.log
log-level = 1

group = sendsms-user
username = {self.USER}
password = {self.PASSWORD}
max-messages = 10
concatenation = true

group = sms-service
keyword = default
max-messages = 0
text = "nothing"
""")
        self.running = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/cgi-bin/sendsms"

    def start(self):
        beginning = len(self._log("smsbox.log"))
        self._run("bearerbox", "-v", "4", self.config)
        await_until("bearerbox runs", 60, lambda: self._listens(self.box) and self._listens(self.centre))
        # The centre generates nothing of its own: it prints what it is given.
        self._run("fakesmsc", "-H", "127.0.0.1", "-r", str(self.centre), "-i", "3600", "-m", "0", "100 200 text none")
        smsbox = self._run("smsbox", "-v", "4", self.config)

        def takes_messages():
            """By its own word, once it has bearerbox; it ends where bearerbox does not take it yet."""
            nonlocal smsbox
            if smsbox.poll() is not None:
                self.running.remove(smsbox)
                smsbox = self._run("smsbox", "-v", "4", self.config)
            return "Connected to bearerbox" in self._log("smsbox.log")[beginning:] and self._listens(self.port)
        await_until(f"smsbox takes messages; its log: {self._log('smsbox.log')[-500:]}", 60, takes_messages)

    def _listens(self, port):
        return subprocess.run(["bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port}"], capture_output=True, check=False).returncode == 0

    def _log(self, name):
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def _run(self, name, *arguments):
        with open(os.path.join(self.folder, f"{name}.out"), "ab") as output:
            self.running.append(subprocess.Popen([PROGRAMS[name], *arguments], stdout=output, stderr=output, cwd=self.folder))
        return self.running[-1]

    def stop(self):
        """All at once and without a word, as when the machine goes."""
        for program in self.running:
            program.kill()
        for program in self.running:
            program.wait()
        self.running = []

    @property
    def messages(self):
        """What the centre was given: pairs of recipient and text."""
        lines = re.findall(r"Got message \d+: <(.*)>", self._log("fakesmsc.out"))
        return [(words[1], words[-1]) for words in (line.split(" ", 3) for line in lines) if len(words) == 4]


def remove(folder):
    shutil.rmtree(folder, ignore_errors=True)


