"""The site that ``make docs`` builds, in a browser: pages fit, pictures load, search finds."""

import functools
import json
import re
import shutil
import subprocess
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest

SITE = Path(__file__).parent.parent / "site"
PAGES = [path.relative_to(SITE).as_posix() for path in sorted(SITE.rglob("*.html"))]
PAGES = [page for page in PAGES if not re.match(r"_|search|genindex|py-modindex", page)]
REFERENCE = [page for page in PAGES if page.startswith("generated/")]  # all of one kind
PAGES = [page for page in PAGES if page not in REFERENCE] + REFERENCE[::10]
WIDTHS = (400, 1400)
SEARCHES = {  # one of the first two pages found must be this
    "multiple instance learning": "tutorials/bags_of_features",
    "bag": "tutorials/bags_of_digits",
    "burst": "merging",
    "Deep Sets": "concepts/early",
    "set transformer": "concepts/schemes",
    "RaggedSets": "symsets.RaggedSets",
}
HARNESS = """<!doctype html><body><script>
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
async function open(url, width) {
  const frame = document.createElement("iframe");
  frame.style.cssText = `width:${width}px;height:900px;border:0`;
  frame.src = url;
  document.body.append(frame);
  await new Promise((done) => (frame.onload = done));
  return frame;
}
async function look(page, width) {
  const frame = await open(page, width), doc = frame.contentDocument;
  for (const image of doc.images) image.loading = "eager";
  await Promise.all([...doc.images].map((image) => image.decode().catch(() => 0)));
  const broken = [...doc.images].filter((image) => !image.naturalWidth).map((i) => i.src);
  const root = doc.documentElement;
  const found = {page, width, broken, over: root.scrollWidth - root.clientWidth};
  frame.remove();
  return found;
}
async function search(words) {
  const frame = await open("search.html?q=" + encodeURIComponent(words), 1400);
  const doc = frame.contentDocument;
  for (let k = 0; k < 100 && !/finished|found|did not match/.test(
    doc.querySelector("#search-results p.search-summary")?.textContent ?? ""); k++) await wait(50);
  await wait(200);
  const links = [...doc.querySelectorAll("#search-results li a")].map((link) => link.href);
  frame.remove();
  return {words, links};
}
async function main(job) {
  const found = {pages: [], searches: []};
  for (const width of job.widths)
    for (const page of job.pages) found.pages.push(await look(page, width));
  for (const words of job.searches) found.searches.push(await search(words));
  await fetch("/found", {method: "POST", body: JSON.stringify(found)});
}
main(JSON.parse(decodeURIComponent(location.hash.slice(1))));
</script></body>"""


class Handler(SimpleHTTPRequestHandler):
    """Serve the site, the page that looks at it, and take what that found."""

    def do_GET(self):
        if self.path != "/harness":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(HARNESS.encode())
        return None

    def do_POST(self):
        size = int(self.headers["Content-Length"])
        self.server.found = json.loads(self.rfile.read(size))
        self.send_response(204)
        self.end_headers()
        self.server.ready.set()

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What a browser finds on all pages, at both widths, and for all searches."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=SITE))
    server.ready = threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    job = quote(json.dumps({"pages": PAGES, "widths": WIDTHS, "searches": [*SEARCHES]}))
    command = [
        *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"),
        *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
        *("--disable-sync", f"--user-data-dir={tmp_path_factory.mktemp('profile')}"),
        *("--window-size=1500,1000", "--remote-debugging-port=0"),
        f"http://127.0.0.1:{server.server_port}/harness#{job}",
    ]
    browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert server.ready.wait(180), "the browser has not answered"
    finally:
        browser.terminate()
        browser.wait()
        server.shutdown()
        server.server_close()
    return server.found


pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not PAGES, reason="needs the site: make docs"),
    pytest.mark.skipif(shutil.which("chromium") is None, reason="needs a browser"),
]


def test_no_page_is_wider_than_its_window(found):
    assert len(found["pages"]) == len(PAGES) * len(WIDTHS)
    assert not [look for look in found["pages"] if look["over"]]


def test_all_pictures_load(found):
    assert not [look for look in found["pages"] if look["broken"]]


@pytest.mark.parametrize("words", SEARCHES)
def test_words_that_people_search_for_lead_to_the_right_page(found, words):
    (links,) = (look["links"] for look in found["searches"] if look["words"] == words)
    assert any(SEARCHES[words] in link for link in links[:2]), links[:5]
