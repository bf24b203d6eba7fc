"""Makes Services/Consent/Resources/published-passwords.bin from PyPI's zxcvbn: `python3 Tests/Interop/published_passwords.py` writes it anew.

zxcvbn 4.5.0, MIT licence, Copyright (c) 2016 Daniel Wolf; its list "passwords" is that of Dropbox's zxcvbn (MIT, Copyright (c) 2012-2016
Dan Wheeler and Dropbox, Inc.), counted in lists of passwords that were published. What is kept of a word is what
Services/Consent/Passwords/PublishedPasswords.swift reads: the first five bytes of its SHA-256, in ascending order.
"""

import hashlib
from pathlib import Path

from zxcvbn.frequency_lists import FREQUENCY_LISTS

FILE = Path(__file__).parent.parent.parent / "Services" / "Consent" / "Resources" / "published-passwords.bin"
HASH_BYTES = 5


def table():
    words = {"".join(word.lower().split()) for word in FREQUENCY_LISTS["passwords"]}
    return b"".join(sorted({hashlib.sha256(word.encode()).digest()[:HASH_BYTES] for word in words}))


if __name__ == "__main__":
    FILE.write_bytes(table())
