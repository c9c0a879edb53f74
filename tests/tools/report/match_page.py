"""The pages of reid match -o FILE.html and of the demo in Chromium, for t_match_page.sh: match_page.py MATCH DEMO.
MATCH_SHOTS names a folder for images of both, to be looked at."""
import base64
import hashlib
import os
import re
import sys
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

SHOTS = os.environ.get("MATCH_SHOTS")
WIDTHS = (1440, 390)
# Text whose contrast with its background is below 4.5, as WCAG 2 counts it; colours are opaque on these pages.
PALE = """
const rgb = s => s.match(/[\\d.]+/g).map(Number);
const linear = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const light = c => { const [r, g, b] = rgb(c).map(linear);
                     return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
                                                       if (rgb(c)[3] !== 0) return c; } return 'rgb(255,255,255)'; };
const contrast = (a, b) => { a = light(a); b = light(b); return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); };
const pale = [];
for (const e of document.querySelectorAll('body *')) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    const s = getComputedStyle(e), ink = e instanceof SVGElement ? s.fill : s.color;
    if (contrast(ink, behind(e)) < 4.5) pale.push(e.tagName + '.' + e.className + ' ' + ink + ' on ' + behind(e));
}
for (const e of document.querySelectorAll('svg rect'))
    if (contrast(getComputedStyle(e).fill, behind(e.parentElement)) < 3) pale.push('bar ' + getComputedStyle(e).fill);
return [...new Set(pale)];
"""


def browser():
    options = Options()
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     "--no-first-run", "--user-data-dir=" + os.path.join(os.getcwd(), "profile")):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


def show(driver, page, width, scheme):
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                           {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    driver.get(Path(page).resolve().as_uri())
    # what lies below the fold is laid out, too
    driver.execute_script("for (const c of document.querySelectorAll('.card')) c.style.contentVisibility = 'visible'")


def shoot(driver, page, width, scheme):
    if not SHOTS:
        return
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "format": "png"})
    name = f"{Path(page).stem}-{width}-{scheme}.png"
    Path(SHOTS, name).write_bytes(base64.b64decode(shot["data"]))


def check_layout(driver, width):
    js = driver.execute_script
    assert js("return document.documentElement.scrollWidth") <= width, "wider than the screen"
    used = js("const r = document.querySelector('.cards').getBoundingClientRect(); return r.width")
    assert used >= 0.9 * width, f"{used} of {width} pixels are used"
    boxes = js("return [...document.querySelectorAll('.tile')].map(t => {"
               "const r = t.getBoundingClientRect(); return [r.top, r.width, r.height]})")
    assert boxes and max(b[1] for b in boxes) - min(b[1] for b in boxes) < 1, "ragged tiles"
    for top in {b[0] for b in boxes}:
        assert len({round(b[2]) for b in boxes if b[0] == top}) == 1, "tiles of a row differ in height"
    letters = js("return [...document.querySelectorAll('svg text')].map(t => parseFloat(getComputedStyle(t).fontSize)"
                 " * t.getScreenCTM().d * (t.getAttribute('transform') ? 0 : 1)).filter(x => x)")
    assert all(size >= 10.5 for size in letters), letters
    overlaps = js("const b = [...document.querySelectorAll('svg text')].map(t => t.getBoundingClientRect());"
                  "return b.some((p, i) => b.some((q, k) => k > i && p.left < q.right && q.left < p.right &&"
                  " p.top < q.bottom && q.top < p.bottom))")
    assert not overlaps, "letters of the chart overlap"


def check_pictures(driver):
    alts = driver.execute_script("return [...document.querySelectorAll('img')].map(i => [i.alt, i.naturalWidth])")
    assert alts and all(len(alt) > 10 and width > 0 for alt, width in alts), alts


def visible_cards(driver):
    return driver.execute_script("return [...document.querySelectorAll('.card')].filter(c => c.offsetParent).length")


def check_filters(driver):
    count = driver.execute_script("return document.querySelectorAll('.card').length")
    for name, kind in (("doubtful", "doubt"), ("wrong", "no")):
        wanted = driver.execute_script(f"return document.querySelectorAll('.card.{kind}').length")
        label = driver.find_element("css selector", f"label[for={name}]")
        assert f"({wanted})" in label.text, (label.text, wanted)
        if wanted:
            label.click()
            assert visible_cards(driver) == wanted, (name, wanted, visible_cards(driver))
            assert wanted < count or name == "doubtful"
            driver.find_element("css selector", "label[for=all]").click()
        assert visible_cards(driver) == count


def check_policy(page):
    html = Path(page).read_text(encoding="utf-8")
    style = re.search("<style>(.*?)</style>", html, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy"\s+content="([^"]*)"', html).group(1)
    assert policy == (f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; "
                      "form-action 'none'"), policy
    assert "<script" not in html and " style=" not in html


def check_page(driver, page):
    check_policy(page)
    for width in WIDTHS:
        for scheme in ("light", "dark"):
            show(driver, page, width, scheme)
            shoot(driver, page, width, scheme)
            check_layout(driver, width)
            pale = driver.execute_script(PALE)
            assert not pale, (width, scheme, pale)
            check_pictures(driver)
    check_filters(driver)
    loaded = driver.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
    assert all(name.startswith("data:") for name in loaded), loaded
    log = driver.get_log("browser")
    assert not log, log


def main():
    driver = browser()
    try:
        for page in sys.argv[1:]:
            check_page(driver, page)
    finally:
        driver.quit()


main()
