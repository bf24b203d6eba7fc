"""The order in which files are begun where several run at a time: the longest first, so that none is left over at the end."""

LONGEST_FIRST = [
    "test_openapi.py", "test_sos_pages.py", "test_pages.py", "stream_follower_test.py", "test_messages.py", "test_payments.py", "desk_test.py",
    "test_systemd.py",
]


def pytest_collection_modifyitems(items):
    place = {name: number for number, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: place.get(item.path.name, len(place)))
