# The table of the most used passwords is what its generator makes of the published list.
import unittest

import published_passwords


class PublishedPasswords(unittest.TestCase):
    def test_the_table_is_that_of_the_list(self):
        self.assertEqual(published_passwords.FILE.read_bytes(), published_passwords.table())
        self.assertGreaterEqual(len(published_passwords.table()) // published_passwords.HASH_BYTES, 10_000)


if __name__ == "__main__":
    unittest.main()
