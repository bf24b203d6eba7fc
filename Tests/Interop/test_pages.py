"""Pages behind mailed links, in a real browser: found in the mail, opened, pressed, in Italian and English, and looked at by axe.

Screenshots are kept in TRACKME_SCREENSHOTS where that is set.
"""
import os
import re
import shutil
import tempfile
import unittest

try:
    import axe
    from message_peers import MailServer, remove
    from people import Person, call
    from selenium import webdriver
    from selenium.webdriver.common.by import By
except ImportError as missing:  # an older virtual environment
    raise unittest.SkipTest(f"{missing}: pip install -r Tests/Interop/requirements.txt") from missing
from running_suite import SuiteTestCase, await_until

MISSING = [name for name in ("chromium", "chromedriver") if not shutil.which(name)]


def browser(language):
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,720", f"--lang={language}"):
        options.add_argument(argument)
    options.add_experimental_option("prefs", {"intl.accept_languages": language})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=shutil.which("chromedriver")))


@unittest.skipIf(MISSING, f"no {', '.join(MISSING)}: apt-get install chromium chromium-driver")
class PageTests(SuiteTestCase):
    limit = 120

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="pages-", dir="/tmp")
        cls.addClassCleanup(remove, cls.folder)
        cls.mail = MailServer(cls.folder)
        cls.mail.start()
        cls.addClassCleanup(cls.mail.stop)
        password = os.path.join(cls.folder, "smtp.password")
        with os.fdopen(os.open(password, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(cls.mail.PASSWORD + "\n")
        cls.settings = {
            "TRACKME_NOTIFY_SMTP_URL": f"smtp://localhost:{cls.mail.port}", "TRACKME_NOTIFY_SMTP_USER": cls.mail.USER,
            "TRACKME_NOTIFY_SMTP_PASSWORD": password, "TRACKME_NOTIFY_SMTP_AUTHORITIES": cls.mail.certificate,
            "TRACKME_NOTIFY_FROM": "trackme@suite.example",
        }
        super().setUpClass()
        cls.browsers = {language: browser(language) for language in ("it", "en")}
        for one in cls.browsers.values():
            cls.addClassCleanup(one.quit)

    def link(self, to, part):
        """The path of the first link with that part in a mail to this address."""
        def found():
            for _, recipients, mail in self.mail.mails:
                if to in recipients:
                    text = mail.get_body(("plain",)).get_content()
                    if match := re.search(r"https?://[^/\s]+(/consent/\S*" + part + r"\S*)", text):
                        return match[1]
            return None
        return await_until(f"a mail with a link to {part} for {to}", 20, found)

    def open(self, language, path, name):
        """Opens a page, looks for what breaks a rule of WCAG 2.2, at the usual size and at twice it."""
        page = self.browsers[language]
        page.get(self.suite.consent_url + path)
        for zoom in ("100%", "200%"):
            page.execute_script("document.documentElement.style.zoom = arguments[0]", zoom)
            wide = page.execute_script("return document.documentElement.scrollWidth > window.innerWidth + 1")
            self.assertFalse(wide, f"{name} must be scrolled sideways at {zoom}")
            if folder := os.environ.get("TRACKME_SCREENSHOTS"):
                page.save_screenshot(os.path.join(folder, f"{name}-{language}-{zoom[:-1]}.png"))
        page.execute_script("document.documentElement.style.zoom = '100%'")
        self.assertEqual(language, page.find_element(By.TAG_NAME, "html").get_attribute("lang"))
        self.assertEqual([], axe.violations(page), f"{name} in {language}")
        return page

    def test_axe_bites(self):
        """A page with a button of eight pixels beside another and a picture without words breaks rules, one of WCAG 2.2 among them."""
        page = self.browsers["en"]
        page.get("data:text/html,<html lang=en><title>t</title><main><h1>h</h1><img src=x><button style='width:8px;height:8px;padding:0'>a</button>"
                 "<button style='width:8px;height:8px;padding:0'>b</button></main>")
        broken = {one.split(" ")[0] for one in axe.violations(page)}
        self.assertLessEqual({"image-alt", "target-size"}, broken)

    def test_confirming_an_address(self):
        """ACC-07: the mailed link opens a page in the browser's language; only its button confirms."""
        person = Person.register(self.suite)
        path = self.link(person.form["email"], "confirm-address")
        for language in ("it", "en"):
            page = self.open(language, path, "confirm-address")
        self.assertNotIn("confirmedAt", self.address(person))
        page.find_element(By.CSS_SELECTOR, "form button").click()
        self.open_done(page)
        self.assertIn("confirmedAt", self.address(person))
        self.assertEqual(404, call("GET", self.suite.consent_url + path)[0], "a link is good once")

    def address(self, person):
        """What the profile says of the mail address."""
        status, profile, _ = person.consent("GET", "/consent/v1/profile")
        self.assertEqual(200, status)
        return profile["addressState"]

    def open_done(self, page):
        await_until("the page says that it is done", 10, lambda: not page.find_elements(By.CSS_SELECTOR, "form button"))

    def test_choosing_a_new_password(self):
        """ACC-16, SC-20: forgotten password: the mailed page sets a new one, and the old one is over."""
        person = Person.register(self.suite)
        status, _, _ = call("POST", f"{self.suite.consent_url}/consent/v1/recoveries", {"email": person.form["email"]})
        self.assertEqual(202, status)
        path = self.link(person.form["email"], "recovery")
        self.open("en", path, "recover")
        page = self.open("it", path, "recover")
        fresh = "una batteria molto corretta"
        for field in page.find_elements(By.CSS_SELECTOR, "input[type=password]"):
            field.send_keys(fresh)
        page.find_element(By.CSS_SELECTOR, "form button").click()
        self.open_done(page)
        log_in = f"{self.suite.consent_url}/consent/v1/sessions"
        self.assertEqual(401, call("POST", log_in, {"login": person.form["email"], "password": person.password})[0])
        self.assertEqual(200, call("POST", log_in, {"login": person.form["email"], "password": fresh})[0])

    def test_changing_the_address(self):
        """ACC-19: a new address counts once its own page was pressed."""
        person = Person.register(self.suite)
        new = "new." + person.form["email"]
        status, answer, _ = person.consent("POST", "/consent/v1/profile/email", {"email": new})
        self.assertEqual(202, status, answer)
        path = self.link(new, "change-address")
        self.open("it", path, "change-address")
        page = self.open("en", path, "change-address")
        page.find_element(By.CSS_SELECTOR, "form button").click()
        self.open_done(page)
        status, _, _ = call("POST", f"{self.suite.consent_url}/consent/v1/sessions", {"login": new, "password": person.password})
        self.assertEqual(200, status)

    def test_a_guardian_consents(self):
        """ACC-36: a child's account works after an adult has said yes on the mailed page."""
        from codicefiscale import codicefiscale
        guardian = f"adult.{os.getpid()}@example.org"
        day = "2016-05-04"
        form = Person.form(
            self.suite, surname="Rossi", birthDate=day, fiscalCode=codicefiscale.encode("Rossi", "Berta", "F", day, "Roma"),
            guardianEmail=guardian, weight=30, height=130, occupation="student")
        status, made, _ = call("POST", f"{self.suite.consent_url}/consent/v1/accounts", form)
        self.assertEqual(201, status, made)
        path = self.link(guardian, "guardian")
        self.open("en", path, "guardian")
        page = self.open("it", path, "guardian")
        for box in page.find_elements(By.CSS_SELECTOR, "input[type=checkbox]"):
            box.click()
        for field in page.find_elements(By.CSS_SELECTOR, "input[type=text], input:not([type])"):
            field.send_keys("Carla Rossi")
        for day_field in page.find_elements(By.CSS_SELECTOR, "input[type=date]"):
            page.execute_script("arguments[0].value = '1980-01-02'", day_field)
        page.find_element(By.CSS_SELECTOR, "button[value=consent], form button").click()
        self.open_done(page)
        log_in = {"login": form["email"], "password": form["password"]}
        self.assertEqual(200, call("POST", f"{self.suite.consent_url}/consent/v1/sessions", log_in)[0])


if __name__ == "__main__":
    unittest.main()
