"""The page at / of reid serve in Chromium, for t_serve_page.sh: serve_page.py URL FOLDER. Writes the examples of the
page, as a click selects them, to FOLDER/examples."""
import json
import os
import sys

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

url, folder = sys.argv[1:]
SHOTS = os.environ.get("PAGE_SHOTS")  # a folder for images of the page, to be looked at

options = Options()
options.binary_location = "/usr/bin/chromium"
for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--user-data-dir=" + os.path.join(folder, "profile")):
    options.add_argument(argument)
options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
try:
    for width, height, scheme in ((1280, 900, "light"), (360, 740, "light"), (360, 740, "dark")):
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                               {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                               {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        driver.get(url)
        wide = driver.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width, "the page is %d wide on %d" % (wide, width)
        small = driver.execute_script("return [...document.querySelectorAll('p, code, td, a')].filter(e => "
                                      "parseFloat(getComputedStyle(e).fontSize) < 12).length")
        assert not small, "%d small texts" % small
        if SHOTS:
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                   {"width": width, "height": 1700, "deviceScaleFactor": 1, "mobile": width < 500})
            driver.save_screenshot(os.path.join(SHOTS, "page_%d_%s.png" % (width, scheme)))
    examples = []
    for example in driver.find_elements(By.CSS_SELECTOR, "pre code"):
        example.click()
        selected = driver.execute_script("return getSelection().toString()")
        assert selected.strip() == example.text.strip() and "\n" not in selected.strip(), (selected, example.text)
        examples.append(selected.strip())
    with open(os.path.join(folder, "examples"), "w") as file:
        file.write("".join(e + "\n" for e in examples))
    rows = driver.find_elements(By.CSS_SELECTOR, "table tr")
    assert len(rows) == 2 and "b0" in rows[1].text, [r.text for r in rows]
    driver.find_element(By.LINK_TEXT, "openapi.json").click()
    assert '"openapi": "3.1.0"' in driver.page_source
    # openapi.json has no icon, so the browser looks for one.
    problems = [line for line in driver.get_log("browser") if "favicon" not in line["message"]]
    assert not problems, problems
    sent = [json.loads(line["message"])["message"] for line in driver.get_log("performance")]
    asked = {m["params"]["request"]["url"] for m in sent if m["method"] == "Network.requestWillBeSent"}
    asked = {address for address in asked if not address.startswith(("chrome:", "data:"))}
    assert asked - {url + "favicon.ico"} == {url, url + "openapi.json"}, asked  # the browser asks for it by itself
finally:
    driver.quit()
