"""Looks at a page in a browser with axe-core, by the rules of WCAG 2.2, levels A and AA.

The script is the one that the package axe-playwright-python ships; the package itself is for another driver of browsers.
"""
import importlib.util
import os

# Of WCAG 2.0, 2.1 and 2.2, as axe-core names them.
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"]
OLDEST = (4, 12)

_package = importlib.util.find_spec("axe_playwright_python")
if not _package:
    raise ImportError("No module named 'axe_playwright_python'")
with open(os.path.join(_package.submodule_search_locations[0], "axe.min.js"), encoding="utf-8") as _file:
    _SCRIPT = _file.read()


def violations(page):
    """What breaks a rule: its name, its impact and the first element that does."""
    page.execute_script(_SCRIPT)
    version = page.execute_script("return axe.version")
    assert tuple(int(part) for part in version.split(".")[:2]) >= OLDEST, f"axe-core {version} does not know all rules"
    page.set_script_timeout(30)
    found = page.execute_async_script(
        "const done = arguments[1]; axe.run({runOnly: {type: 'tag', values: arguments[0]}}).then(done, e => done({error: String(e)}))", TAGS)
    assert "error" not in found, found["error"]
    assert found["passes"], "no rule was tried"
    return [f"{one['id']} ({one['impact']}): {one['nodes'][0]['html'][:120]}" for one in found["violations"]]
