"""The page as a browser shows it, without a network."""

import json
import shutil

import pytest

pytestmark = pytest.mark.browser

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--window-size=1400,1000",
    # Every host is unknown: whatever the page asked a network for would fail and be logged.
    "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip
DRAWN = """
return Array.from(document.querySelectorAll('.plot')).map(place => {
  const svg = place.querySelector('.main-svg');
  const box = svg ? svg.getBoundingClientRect() : {width: 0, height: 0};
  return {
    width: box.width, height: box.height, traces: (place._fullData || []).length,
    marks: place.querySelectorAll('.cartesianlayer path, .cartesianlayer image').length,
    overflow: place.scrollWidth > place.clientWidth + 1,
  };
});
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    # Paths are given, so that Selenium looks for nothing to download.
    options.binary_location = str(shutil.which("chromium"))
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield driver
    driver.quit()


@pytest.fixture
def open_page(browser, runs, pages):
    from selenium.webdriver.support.wait import WebDriverWait

    def show(dimension):
        run, _ = runs[dimension]
        for kind in ("browser", "performance"):
            browser.get_log(kind)
        browser.get(run.write_report(pages[dimension]).as_uri())
        # Plotly draws after the page has loaded; on a busy machine that takes a while.
        drawn = (
            "return Array.from(document.querySelectorAll('.plot')).every(p => p.querySelector('.main-svg'))"
        )
        WebDriverWait(browser, 60).until(lambda page: page.execute_script(drawn))
        return browser

    return show


@pytest.mark.parametrize(("dimension", "count"), [(1, 6), (2, 11), (3, 21)])
def test_every_figure_is_drawn_without_an_error_or_a_request(open_page, dimension, count):
    browser = open_page(dimension)
    drawn = browser.execute_script(DRAWN)
    assert len(drawn) == count
    for figure in drawn:
        assert figure["width"] > 150 and figure["height"] > 150
        assert figure["traces"] > 0 and figure["marks"] > 0
        assert not figure["overflow"]
    assert [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []
    assert _requested(browser) == []


def test_hostile_names_are_shown_as_text(open_page):
    browser = open_page(3)
    assert "<script>alert(1)</script>" in browser.find_element("css selector", ".subtitle").text
    titles = browser.execute_script(
        "return Array.from(document.querySelectorAll('.xtitle, .ytitle')).map(title => title.textContent)"
    )
    assert any(title.startswith("<script>") for title in titles)


@pytest.mark.slow
def test_the_page_is_never_wider_than_the_window(open_page):
    from selenium.webdriver.support.wait import WebDriverWait

    browser = open_page(3)
    for width in (1400, 1024, 700):
        browser.set_window_size(width, 900)
        # Figures follow the window after a moment.
        WebDriverWait(browser, 5, 0.1).until(
            lambda b: b.execute_script("return document.documentElement.scrollWidth <= window.innerWidth"),
            f"too wide in a window of {width} pixels",
        )


def _requested(browser) -> list[str]:
    """Addresses that the page asked a network for; the browser's own new tab is not the page."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    own = ("file:", "data:", "blob:", "chrome:", "chrome-untrusted:")
    return [url for url in sent if not url.startswith(own)]
