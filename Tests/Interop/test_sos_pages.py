"""The pages of an emergency in a real browser: the person's four buttons and the contacts' page, with and without scripts, in Italian and
English, at twice the size, and looked at by axe.

Screenshots are kept in TRACKME_SCREENSHOTS where that is set.
"""
import datetime
import json
import os
import re
import shutil
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

try:
    import axe
    from people import Person, call
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.common.by import By
except ImportError as missing:  # an older virtual environment
    raise unittest.SkipTest(f"{missing}: pip install -r Tests/Interop/requirements.txt") from missing
from running_suite import SuiteTestCase, await_until

MISSING = [name for name in ("chromium", "chromedriver") if not shutil.which(name)]
SOS = 2
# What the countdown shows, and when this page was loaded: one that is loaded anew has its number from the server.
COUNTDOWN = """const left = document.getElementById('left');
return left && [document.querySelector('h1').textContent, left.getAttribute('role'), Number(left.textContent), performance.timeOrigin];"""
BUTTONS = {"en": ["I am fine", "I need help", "False alarm", "Help is here"],
           "it": ["Sto bene", "Ho bisogno di aiuto", "Falso allarme", "Il soccorso è qui"]}


def browser(language, scripts=True):
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,720", f"--lang={language}"):
        options.add_argument(argument)
    choices = {"intl.accept_languages": language}
    if not scripts:
        choices["profile.managed_default_content_settings.javascript"] = 2
    options.add_experimental_option("prefs", choices)
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=shutil.which("chromedriver")))


class Gateway:
    """Takes texts and calls, and delivers none."""

    def __init__(self):
        self.taken = taken = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                taken.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(202)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/gateway"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def texts(self, number, channel="sms"):
        return [one["text"] for one in list(self.taken) if one["to"] == number and one["channel"] == channel]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@unittest.skipIf(MISSING, f"no {', '.join(MISSING)}: apt-get install chromium chromium-driver")
class EmergencyPageTests(SuiteTestCase):
    limit = 170
    origin = SOS

    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway()
        cls.addClassCleanup(cls.gateway.close)
        cls.settings = {
            "TRACKME_NOTIFY_GATEWAY_URL": cls.gateway.url, "TRACKME_NOTIFY_SMS_ORDER": "gateway", "TRACKME_SOS_DISPATCH_AT_S": "4.9"}
        super().setUpClass()
        cls.browsers = {language: browser(language) for language in ("it", "en")}
        for one in cls.browsers.values():
            cls.addClassCleanup(one.quit)

    # What the person's app does

    def sos(self, person, method, path, body=None):
        return call(method, self.suite.sos_url + path, body, person.access_token)

    def upload(self, token, *entries):
        at = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        status, answer, _ = call(
            "POST", f"{self.suite.ingest_url}/ingest/v1/entries", {"entries": [one | {"at": at} for one in entries]}, token)
        self.assertEqual((200, []), (status, answer.get("rejected")), answer)

    def subscriber(self, *contacts):
        person = Person.register(self.suite)
        _, token = person.pair()
        self.upload(token, {"type": "heart-rate", "value": 70}, {"type": "position", "latitude": 45.4642, "longitude": 9.19})

        def joined():
            _, known, _ = self.sos(person, "GET", "/sos/v1/subscription")
            if not isinstance(known, dict) or "clauses" not in known:
                return None
            status, answer, _ = self.sos(person, "PUT", "/sos/v1/subscription", {"acceptedClauses": known["clauses"]["version"]})
            return status == 200 or None
        await_until("the person has joined AutomatedSOS", 20, joined)
        for contact in contacts:
            status, answer, _ = self.sos(person, "POST", "/sos/v1/contacts", contact)
            self.assertEqual(201, status, answer)
        self.upload(token, {"type": "position", "latitude": 45.4642, "longitude": 9.19})
        return person, token

    def prompt_link(self, person):
        def found():
            _, page, _ = call("GET", f"{self.suite.notifier_url}/notify/v1/inbox", token=person.access_token)
            match = re.search(r"(/sos/v1/prompt/page/[\w-]+)", json.dumps(page))
            return match and match[1]
        return await_until("the prompt's link is in the inbox", 20, found)

    # What a browser shows

    def check(self, page, language, name, buttons):
        self.assertEqual(language, page.find_element(By.TAG_NAME, "html").get_attribute("lang"))
        for zoom in ("100%", "200%"):
            page.execute_script("document.documentElement.style.zoom = arguments[0]", zoom)
            wide = page.execute_script("return document.documentElement.scrollWidth > window.innerWidth + 1")
            self.assertFalse(wide, f"{name} must be scrolled sideways at {zoom}")
            if folder := os.environ.get("TRACKME_SCREENSHOTS"):
                page.save_screenshot(os.path.join(folder, f"{name}-{language}-{zoom[:-1]}.png"))
        page.execute_script("document.documentElement.style.zoom = '100%'")
        shown = page.find_elements(By.CSS_SELECTOR, "form button")
        # Beside "I need help" stands that it is held.
        self.assertEqual(sorted(buttons), sorted(one.text.split(" (")[0] for one in shown))
        for one in shown:
            self.assertGreaterEqual(one.size["height"], 76, "large enough for a trembling hand")
            self.assertGreaterEqual(one.size["width"], 300)
        self.assertEqual([], axe.violations(page), f"{name} in {language}")

    def between_pages(self, look):
        """Pages load themselves anew; an element that has just gone, by whatever name the driver says so, is looked for again."""
        def once():
            try:
                return (look(),)
            except WebDriverException:
                return None
        return await_until("the page stands still", 20, once)[0]

    def press(self, page, value):
        self.between_pages(lambda: page.find_element(By.CSS_SELECTOR, f"button[value={value}]").click())

    def title(self, page):
        return self.between_pages(lambda: page.find_element(By.TAG_NAME, "h1").text)

    def test_the_prompt(self):
        """SOS-13, SOS-14, SOS-19, SOS-21: four large buttons; the page follows the emergency by itself; false alarm is possible after the call."""
        person, token = self.subscriber()
        self.upload(token, {"type": "heart-rate", "value": 31})
        link = self.prompt_link(person)
        italian, english = self.browsers["it"], self.browsers["en"]
        for language, page in self.browsers.items():
            page.get(self.suite.sos_url + link)
        await_until("the call is made, and the page says so without a touch", 30, lambda: self.title(italian) == "Si sta chiamando aiuto")
        await_until("in both languages", 30, lambda: self.title(english) == "Help is being called")
        self.check(italian, "it", "prompt-calling", BUTTONS["it"])
        self.check(english, "en", "prompt-calling", BUTTONS["en"])
        self.press(italian, "false-alarm")
        await_until("it is called off", 20, lambda: self.title(italian) == "Annullato")
        self.assertIn("era già partita", italian.find_element(By.ID, "state").text)
        await_until("everywhere", 20, lambda: self.title(english) == "Called off")
        self.check(english, "en", "prompt-called-off", ["I need help"])

    def counts_down(self, page):
        """Whether the number has gone down on one page as it was loaded; false where that page is gone before."""
        first = page.execute_script(COUNTDOWN)
        if not first or first[0] != "Va tutto bene?" or first[2] == 0:
            return False
        self.assertEqual("timer", first[1])
        end = time.monotonic() + 3
        while (shown := page.execute_script(COUNTDOWN)) and shown[3] == first[3]:
            if shown[2] < first[2]:
                return True
            self.assertLess(time.monotonic(), end, f"the countdown stands still at {shown[2]}")
            time.sleep(0.05)
        return False

    def test_the_countdown(self):
        """SOS-13, SOS-14: the page counts down; "I am fine" in time keeps everybody from being called."""
        page = self.browsers["it"]

        def answered_in_time():
            """A loaded machine may be slower than the countdown: then somebody else's heart is taken."""
            person, token = self.subscriber()
            self.upload(token, {"type": "heart-rate", "value": 31})
            page.get(self.suite.sos_url + self.prompt_link(person))
            try:
                if not self.counts_down(page):
                    return None
                page.find_element(By.CSS_SELECTOR, "button[value=fine]").click()
            except WebDriverException:
                return None
            return await_until("the answer is in force", 20, lambda: self.title(page) in ("È finita", "Annullato") and self.title(page))

        for _ in range(5):
            if (title := answered_in_time()) == "È finita":
                return
        self.fail(f"never answered before the call; at last: {title}")

    def test_without_scripts(self):
        """UI-12: a browser that runs no scripts shows the same, follows by itself, and its buttons work."""
        page = browser("en", scripts=False)
        self.addCleanup(page.quit)
        person, token = self.subscriber()
        self.upload(token, {"type": "heart-rate", "value": 31})
        page.get(self.suite.sos_url + self.prompt_link(person))
        await_until("the page follows", 30, lambda: self.title(page) == "Help is being called")
        shown = self.between_pages(lambda: sorted(one.text for one in page.find_elements(By.CSS_SELECTOR, "form button")))
        self.assertEqual(sorted(BUTTONS["en"]), shown)
        self.press(page, "fine")
        await_until("it is called off", 20, lambda: self.title(page) == "Called off")

    def test_contacts(self):
        """SOS-22: text and call within seconds, a page of each contact's own; one "on my way" is told to the other, a false alarm to both."""
        berta = {"name": "Berta", "telephone": "+393330000001", "language": "it"}
        carlo = {"name": "Carlo", "telephone": "+393330000002", "language": "en"}
        person, token = self.subscriber(berta, carlo)
        self.upload(token, {"type": "heart-rate", "value": 31})

        def link(contact):
            for text in self.gateway.texts(contact["telephone"]):
                if match := re.search(r"(/sos/c/[\w-]+)", text):
                    self.assertLessEqual(len(text), 160)
                    self.assertIn("45.46420,9.19000", text)
                    return match[1]
            return None
        paths = [await_until(f"{one['name']}'s text", 30, lambda one=one: link(one)) for one in (berta, carlo)]
        for one in (berta, carlo):
            await_until(f"{one['name']}'s call", 20, lambda one=one: self.gateway.texts(one["telephone"], "call"))
        self.assertNotEqual(*paths)
        italian, english = self.browsers["it"], self.browsers["en"]
        italian.get(self.suite.sos_url + paths[0])
        english.get(self.suite.sos_url + paths[1])
        self.assertIn("45.46420,9.19000", italian.page_source)
        self.assertIn("Si sta ancora cercando", italian.page_source)
        self.check(italian, "it", "contact", ["Visto", "Sto arrivando", "Sono sul posto", "Non posso aiutare"])
        self.check(english, "en", "contact", ["Seen", "I am on my way", "I am there", "I cannot help"])
        self.press(italian, "on-my-way")
        await_until("it is noted", 20, lambda: "Hai detto: sta arrivando" in italian.page_source)
        await_until("Carlo is told", 20, lambda: any("Berta is on the way" in text for text in self.gateway.texts(carlo["telephone"])))
        english.refresh()
        self.assertIn("Berta: on the way", english.page_source)
        _, prompt, _ = self.sos(person, "GET", "/sos/v1/prompt")
        status, receipt, _ = self.sos(
            person, "POST", "/sos/v1/prompt/answers", {"emergency": prompt["prompt"]["emergency"], "answer": "false-alarm"})
        self.assertEqual((200, True), (status, receipt["alreadyDispatched"]))
        for one, words in ((berta, "falso allarme"), (carlo, "false alarm")):
            await_until("the false alarm is told", 20, lambda one=one, words=words: any(words in t for t in self.gateway.texts(one["telephone"])))
        english.refresh()
        self.assertEqual("False alarm", self.title(english))
        self.assertEqual([], english.find_elements(By.CSS_SELECTOR, "form button"))


if __name__ == "__main__":
    unittest.main()
