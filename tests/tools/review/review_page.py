"""The page of reid review in Chromium, for t_review_page.sh: review_page.py REID, in the folder with its files."""
import contextlib
import json
import os
import subprocess
import sys
import time

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

REID = sys.argv[1]
SHOTS = os.environ.get("REVIEW_SHOTS")  # a folder for images of the page, to be looked at
ANSWERER = 'Zoë <i>"&'
ODD = "x<script>alert(1)</script>.png"

# What tracks/ knows of its crops: the photo or the id, camera and time, the words for "not a crop"; and the width of
# the photo that is shown.
TOLD = [f"crops/{i}.png" for i in range(4)]
FACTS = [("<b>&.png", "east · 2024-05-31 23:59:50", "Not an animal"),
         ("gone.png", "east · 2024-06-01 00:00:00", "Not a person"),
         ("walk.mp4", "1:02:05", "Not a vehicle"), ("crops/3.png", "", "Not an individual")]
PHOTOS = [300, 0, 0, 40]


def browser():
    options = Options()
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--no-first-run", "--user-data-dir=" + os.path.join(os.getcwd(), "profile")):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.add_experimental_option("prefs", {"download.default_directory": os.getcwd()})
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


class Review:
    """A running reid review."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([REID, "review", *arguments], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://127.0.0.1:"), self.url

    def __enter__(self):
        return self

    def __exit__(self, failed, *_):
        self.process.terminate()
        if not failed:
            assert self.process.wait(10) == 0
        self.process.kill()


def journal(path="d.jsonl"):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


class Page:
    """What a person does on the page."""

    def __init__(self, driver):
        self.driver = driver

    def js(self, code, *arguments):
        return self.driver.execute_script("return " + code, *arguments)

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def click(self, selector):
        self.one(selector).click()

    def key(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    @contextlib.contextmanager
    def slow_groups(self):
        """Tells every page opened in it that grouping takes a minute: on a fast machine, pages would regroup without
        being asked."""
        script = r"""fetch = (real => (...rest) => real(...rest).then(async r => new Response(
            (await r.text()).replace(/"seconds": ?[0-9.e-]+/g, '"seconds": 60'),
            {status: r.status, headers: r.headers})))(fetch)"""
        added = self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})
        yield
        self.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)

    def groups_come_before_an_undo(self):
        """From now on, the page gets new groups only once an undo is requested, and the undo is sent after that."""
        self.driver.execute_script(r"""const real = fetch, pause = () => new Promise(done => setTimeout(done, 20));
            let undoing = false;
            window.fetch = async (path, ...rest) => {
                if (path.startsWith('groups/')) while (!undoing) await pause();
                if (path === 'decide' && rest[0].body.includes('undo')) {
                    undoing = true;
                    while (document.body.dataset.grouping !== undefined) await pause();
                }
                return real(path, ...rest);
            }""")

    def until(self, what, holds, seconds=10):
        try:
            WebDriverWait(self.driver, seconds, poll_frequency=0.02).until(lambda _: holds())
        except WebDriverException as error:
            raise AssertionError(what + ": " + repr(self.state())) from error

    def state(self):
        return {"seq": self.js("document.body.dataset.seq"), "pair": self.pair(),
                "toast": self.js("document.querySelector('#toast').textContent"),
                "counts": self.js("document.querySelector('#counts').textContent")}

    def seq(self, wanted):
        self.until(f"line {wanted} is shown", lambda: self.js("document.body.dataset.seq") == str(wanted))

    def pair(self):
        shown = self.js("document.querySelector('#question').hidden ? null : "
                        "document.querySelector('#question').dataset.pair")
        return shown and shown.split("\n")

    def cards(self):
        return self.js("[...document.querySelectorAll('#groups .card')].map(c => c.innerText.replace(/\\n/g, ' '))")

    def quiet(self):
        """Waits until the groups take every decision into account."""
        self.until("grouped", lambda: self.js("document.body.dataset.grouping === undefined && "
                                              "document.querySelector('#regroup i').textContent === ''"), 60)

    def shot(self, name):
        if not SHOTS:
            return
        for width, height, mobile in ((1280, 800, False), (390, 844, True)):
            for scheme in ("light", "dark"):
                self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                    "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile})
                self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
                    "features": [{"name": "prefers-color-scheme", "value": scheme}]})
                time.sleep(0.5)
                self.driver.save_screenshot(os.path.join(SHOTS, f"{name}-{width}-{scheme}.png"))
        self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def open(self, url):
        self.driver.get(url)
        self.until("the page is there", lambda: self.js("document.body.dataset.seq !== undefined"), 60)

    def complaints(self):
        """The browser's messages: scripts that were refused, errors, requests that failed."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def is_quiet(self):
        said = self.complaints()
        assert not said, said


def answer_by_keys_and_clicks(page):
    first = page.pair()
    assert first and "left" in page.one("#score").text
    assert [page.one(f"#{side} .photo").text for side in ("left", "right")] == first  # nothing else is known about them
    assert page.one("#left .none").text.startswith("Not an individual")
    page.until("both images are shown", lambda: page.js(
        "['left', 'right'].every(s => document.querySelector(`#${s} .crop img`).naturalWidth > 0)"))
    page.shot("question")
    page.key("s")
    page.seq(1)
    assert journal()[0]["what"] == "same" and journal()[0]["crops"] == first, journal()
    second = page.pair()
    assert second != first
    page.click("#different")
    page.seq(2)
    assert journal()[1]["what"] == "different" and journal()[1]["crops"] == second
    third = page.pair()
    page.key("l")  # later: nothing is stored
    page.until("another question", lambda: page.pair() != third)
    page.key("u")
    page.seq(3)
    assert journal()[2]["what"] == "undo" and journal()[2]["undoes"] == 2
    page.until("it is asked again", lambda: page.pair() == second)
    page.groups_come_before_an_undo()
    page.click("#different")
    page.seq(4)
    page.js("[1, 2].forEach(() => document.querySelector('#undo').click())")  # the second is one too many
    page.seq(5)
    page.until("it is asked again after new groups", lambda: page.pair() == second)
    page.click("#undo")
    page.seq(6)
    assert journal()[5]["undoes"] == 1
    page.until("so is the first", lambda: page.pair() == first)
    assert page.one("#undo").get_attribute("disabled")
    left, right = page.pair()
    page.key("2")
    page.seq(7)
    assert journal()[6] | {"crops": [right], "what": "not a crop"} == journal()[6]
    page.until("asked of others", lambda: right not in page.pair())
    page.until("its image is apart", lambda: any("Not an individual" in card for card in all_cards(page)))
    page.click("#undo")
    page.seq(8)


def all_cards(page):
    """The list is drawn only where it is visible: scrolls through all of it, line by line."""
    seen = []
    height = page.js("document.body.scrollHeight")
    for top in range(0, height, 500):
        page.js("scrollTo(0, arguments[0])", top)
        time.sleep(0.08)
        seen += [card for card in page.cards() if card not in seen]
    page.js("scrollTo(0, 0)")
    return seen


def type_name(page, name):
    page.until("the name is asked for", lambda: page.one("#naming").get_attribute("open") is not None)
    page.key(*name, Keys.ENTER)


def name_groups(page):
    lines = len(journal())
    left = page.pair()[0]
    page.key("n")
    type_name(page, "<b>Ann</b> & co")
    page.seq(lines + 1)
    line = journal()[-1]
    assert line["what"] == "name" and line["name"] == "<b>Ann</b> & co", line
    page.until("the name is shown", lambda: page.one("#left b").text.startswith("<b>Ann</b> & co"))
    assert page.pair()[0] == left
    page.key("n")  # cancelled: nothing is stored
    page.until("asked", lambda: page.one("#naming").get_attribute("open") is not None)
    page.key(Keys.ESCAPE)
    page.until("closed", lambda: page.one("#naming").get_attribute("open") is None)
    page.key("s", "u")  # two keys at once: the second comes while the first is being stored, or undoes it
    page.until("stored", lambda: len(journal()) >= lines + 2)
    page.until("not busy", lambda: page.js("document.body.getAttribute('aria-busy')") is None)
    time.sleep(0.3)
    assert len(journal()) <= lines + 3
    if journal()[-1]["what"] == "same":
        page.key("u")
    page.until("undone", lambda: journal()[-1]["what"] == "undo")


def split_group(page):
    page.js("document.querySelector('#list').scrollIntoView()")
    time.sleep(0.2)
    page.js("document.querySelector('#least').value = 3")
    page.js("document.querySelector('#least').dispatchEvent(new Event('input'))")
    page.until("only large groups", lambda: page.cards() and all(int(c.split(" crops")[0].split()[-1]) > 2
                                                                 for c in page.cards()))
    page.click("#groups .card")
    page.until("crops are shown", lambda: len(page.all("#group .cell")) > 2)
    title = page.one("#group-title").text
    crops = int(title.split("·")[1].split()[0])
    assert page.one("#group .split").get_attribute("disabled")
    cells = page.all("#group .cell")
    chosen = [cell.get_attribute("title") for cell in cells[1:3]]
    for pick in page.all("#group .pick")[1:3]:
        pick.click()
    page.shot("group")
    lines = len(journal())
    page.key("x")
    page.seq(lines + 1)
    line = journal()[-1]
    assert line["what"] == "different" and line["crops"][1:] == chosen and len(line["crops"]) == 3, line
    page.until("they have left", lambda: f"· {crops - 2} crop" in page.one("#group-title").text)
    page.key("u")
    page.seq(lines + 2)
    page.until("they are back", lambda: f"· {crops} crops" in page.one("#group-title").text)
    page.key(Keys.ESCAPE)
    page.until("closed", lambda: page.one("#group").get_attribute("open") is None)
    page.js("document.querySelector('#least').value = 1")
    page.js("document.querySelector('#least').dispatchEvent(new Event('input'))")


def filter_groups(page):
    page.click("#text")
    page.key(*"script>")
    page.until("one group is left", lambda: len(page.cards()) == 1 and "script>" in page.cards()[0])
    assert page.js("document.querySelectorAll('#groups script, #groups b b').length") == 0
    assert page.js("document.querySelector('#groups .card').title").endswith(ODD)
    page.key(*([Keys.BACKSPACE] * 7))
    page.until("all are back", lambda: len(page.cards()) > 1)
    page.click("#unnamed")
    page.until("no named one", lambda: not any("Ann" in card for card in all_cards(page)))
    page.js("document.activeElement.blur()")
    page.click("#unnamed")
    page.click("#doubtful")
    page.until("only those in doubt", lambda: all("?" in card for card in page.cards()))
    page.click("#doubtful")


def two_tabs(page, url):
    lines = len(journal())
    first = page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    page.open(url)
    second = page.driver.current_window_handle
    page.seq(lines)
    asked = page.pair()
    page.key("d")
    page.seq(lines + 1)
    page.driver.switch_to.window(first)  # it becomes visible, and fetches the new decision
    page.seq(lines + 1)
    page.until("not asked twice", lambda: page.pair() != asked)
    # A decision in a tab that has not fetched the last one: the answer contains it. A hidden tab fetches nothing.
    page.js("Object.defineProperty(document, 'hidden', {get: () => true, configurable: true})")
    page.driver.switch_to.window(second)
    page.key("s")
    page.seq(lines + 2)
    page.driver.switch_to.window(first)
    assert page.js("document.body.dataset.seq") == str(lines + 1)
    page.click("#different")
    page.seq(lines + 3)
    assert journal()[-1]["seq"] == lines + 3
    page.driver.switch_to.window(second)
    page.seq(lines + 3)
    page.driver.close()
    page.driver.switch_to.window(first)


def reload(page):
    page.quiet()
    before = (page.pair(), page.one("#counts").text, page.js("document.body.dataset.seq"))
    page.driver.refresh()
    page.until("the page is there", lambda: page.js("document.body.dataset.seq !== undefined"))
    assert (page.pair(), page.one("#counts").text, page.js("document.body.dataset.seq")) == before


def refused(page):
    """A contradiction is reported, nothing is stored, and the page continues."""
    page.open(page.driver.current_url)
    lines = len(journal())
    reply = page.driver.execute_async_script("""
        const done = arguments[arguments.length - 1];
        const post = body => fetch('decide', {method: 'POST', headers: {'Content-Type': 'application/json'},
                                              body: JSON.stringify(body)}).then(r => r.json().then(j => [r.status, j]));
        (async () => {
          await post({what: 'same', crops: ['a/1.png', 'a/2.png']});
          await post({what: 'same', crops: ['a/2.png', 'a/3.png']});
          done(await post({what: 'different', crops: ['a/1.png', 'a/3.png']}));
        })();""")
    assert reply[0] == 409 and "a contradiction" in reply[1]["error"], reply
    assert len(journal()) <= lines + 2


def answer_all(page):
    """To the last question, by touch; buttons are large enough for that."""
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True})
    page.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    page.driver.refresh()
    page.until("the page is there", lambda: page.js("document.body.dataset.seq !== undefined"))
    small = page.js("[...document.querySelectorAll('button')].filter(b => b.offsetWidth && "
                    "(b.offsetHeight < 44 || b.offsetWidth < 44)).map(b => b.outerHTML)")
    assert not small, small
    assert page.js("document.documentElement.scrollWidth <= innerWidth"), "it scrolls sideways"
    for _ in range(60):
        page.quiet()
        if not page.pair():
            break
        lines = len(journal())
        before = page.pair()
        page.click("#different")
        page.until("answered", lambda: len(journal()) > lines and page.pair() != before)
    page.until("the end is told", lambda: "No questions are left" in page.one("#finished").text)
    heeds = page.js("fetch('groups/0').then(r => r.json()).then(j => j.layer.heeds)")
    assert heeds == len(journal()), (heeds, len(journal()))
    assert page.one("#progress").get_attribute("aria-valuenow") == "100"
    page.shot("finished")
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    page.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})


def server_gone(page, review):
    review.process.kill()
    review.process.wait()
    page.click("#undo")
    page.until("told", lambda: "nothing was stored" in page.one("#toast").text)


def many_crops(page):
    """50,000 crops: the list is scrolled from end to end, and only the visible part is drawn."""
    arguments = ("many.npy", "--decisions", "many.jsonl", "--threshold", "0.97", "--by", "ann")
    with Review(*arguments) as review, page.slow_groups():
        page.open(review.url)
        assert page.one("#counts").text.startswith("50000 crops"), page.one("#counts").text
        height = page.js("document.body.scrollHeight")
        assert height > 100000, height
        start = time.time()
        for step in range(21):
            page.js("scrollTo(0, arguments[0])", height * step // 20)
            time.sleep(0.05)
            count = page.js("document.querySelectorAll('#groups .card').length")
            assert 0 < count < 200, count
        page.until("the end is drawn", lambda: page.js(
            "[...document.querySelectorAll('#groups .line')].some(l => l.getBoundingClientRect().bottom > 0)"))
        took = time.time() - start
        assert took < 20, took
        page.js("scrollTo(0, 0)")
        start = time.time()
        page.click("#text")
        page.key(*"04999")
        page.until("found", lambda: 0 < len(page.cards()) < 20)
        page.js("document.activeElement.blur()")
        assert page.pair()
        page.key("s")
        page.seq(1)
        assert time.time() - start < 20
        regroup_many(page)
        page.complaints()  # none of the 50,000 images exists


def regroup_many(page):
    """If grouping takes long, it happens on request, and the page stays usable meanwhile."""
    page.js("fetch = (f => (path, ...rest) => f(path, ...rest).then(r => path.startsWith('groups/') "
            "? new Promise(done => setTimeout(() => done(r), 1500)) : r))(fetch)")
    page.until("the first answer is new", lambda: page.one("#regroup").text == "Regroup R 1 new answer", 30)
    page.shot("many")
    page.key("r")
    page.until("told", lambda: page.one("#regroup").text.startswith("Regrouping"))
    pair = page.pair()
    page.key("d")
    page.seq(2)
    assert page.pair() != pair and page.one("#regroup").text.startswith("Regrouping")
    page.shot("grouping")
    page.until("told", lambda: page.js("document.querySelector('#toast').textContent") ==
               "Regrouped with 1 new answer.", 60)
    page.until("the other answer is new", lambda: page.one("#regroup").text == "Regroup R 1 new answer", 30)
    page.click("#regroup")
    page.until("all are heeded", lambda: page.one("#regroup").text == "Regroup R", 60)
    page.key("u")  # the pair comes apart at once, before groups are made again
    page.seq(3)
    page.until("it is asked again", lambda: page.pair() == pair)


def single_file(page):
    subprocess.run([REID, "review", "crops.npy", "--decisions", "single.jsonl", "--html", "page.html", "--by", "eve",
                    "--threshold", "0.6", "--suggest", "0.05"], check=True)
    page.open("file://" + os.path.join(os.getcwd(), "page.html"))
    asked = page.pair()
    page.until("images are shown", lambda: page.js(
        "['left', 'right'].every(s => document.querySelector(`#${s} .crop img`).naturalWidth > 0)"))
    page.key("s")  # the page was written by eve, who may have passed it on: it asks who answers, once
    page.until("the name is asked for", lambda: page.one("#person").get_attribute("open") is not None)
    assert page.one("#your-name").get_attribute("value") == "eve"
    page.key(Keys.ESCAPE)
    page.until("closed", lambda: page.one("#person").get_attribute("open") is None)
    assert page.pair() == asked and page.js("document.body.dataset.seq") == "0"  # without a name nothing is stored
    page.key("s")
    page.until("asked again", lambda: page.one("#person").get_attribute("open") is not None)
    page.key(*ANSWERER, Keys.ENTER)
    page.seq(1)
    page.key("n")
    type_name(page, "Ann \U0001f98c")
    page.seq(2)
    page.key("d")
    page.seq(3)
    page.key("u")
    page.seq(4)
    page.driver.refresh()
    page.until("kept", lambda: page.js("document.body.dataset.seq") == "4")
    assert page.one("#who").text == "By " + ANSWERER  # so is the name
    page.key("r")
    page.until("told", lambda: "cannot regroup" in page.one("#toast").text)
    page.click("#save")
    page.until("saved", lambda: os.path.exists("decisions.jsonl"))
    subprocess.run([REID, "review", "--import", "decisions.jsonl", "--decisions", "single.jsonl"], check=True)
    lines = journal("single.jsonl")
    assert [line["what"] for line in lines] == ["same", "name", "different", "undo"], lines
    assert lines[0]["crops"] == asked and lines[1]["name"] == "Ann \U0001f98c" and lines[3]["undoes"] == 3
    assert all(line["by"] == ANSWERER for line in lines), lines
    page.is_quiet()


def is_open(page, dialog):
    return page.one(dialog).get_attribute("open") is not None


def told_photo(page, title, width):
    """The dialog shows a photo of this width; 0: the photo is gone, so it shows the crop and says so."""
    page.until("the photo is shown", lambda: is_open(page, "#photo") and page.one("#photo-title").text == title)
    page.until(f"it is {width} wide", lambda: page.js("document.querySelector('#photo img').naturalWidth") ==
               (width or 40))
    assert ("only the crop" in page.one("#photo .quiet").text) == (not width), page.one("#photo .quiet").text


def look_at_photos(page, photos):
    """The whole photos of a question's crops: by click, by key, by arrow, from the group."""
    sides = [TOLD.index(crop) for crop in page.pair()]
    names = [FACTS[at][0] for at in sides]
    for side, at in zip(("left", "right"), sides):
        assert page.one(f"#{side} .photo").text == FACTS[at][0], page.one(f"#{side} .photo").text
        assert page.one(f"#{side} .taken").text.replace("\n", " ") == FACTS[at][1]
        assert page.one(f"#{side} .none").text.startswith(FACTS[at][2]), page.one(f"#{side} .none").text
    page.click("#left .crop")
    told_photo(page, names[0], photos[sides[0]])
    page.shot("photo")
    page.key(Keys.ARROW_RIGHT)
    told_photo(page, names[1], photos[sides[1]])
    page.key(Keys.ARROW_RIGHT)  # no second photo follows
    page.key(Keys.ESCAPE)
    page.until("closed", lambda: not is_open(page, "#photo"))
    page.key("b")
    told_photo(page, names[1], photos[sides[1]])
    page.key("s")  # answers are not given below an open photo
    page.key("b")
    page.until("closed", lambda: not is_open(page, "#photo"))
    page.key("o")
    page.until("crops are shown", lambda: page.all("#group .cell"))
    at = TOLD.index(page.one("#group .cell").get_attribute("title"))
    assert page.one("#group .words").text.replace("\n", " ") == f"{FACTS[at][0]} {FACTS[at][1]}"
    assert page.one("#group .none").text.startswith(FACTS[at][2])
    page.shot("told-group")
    page.js("document.querySelector('#group .pick').focus()")
    page.key("v")
    told_photo(page, FACTS[at][0], photos[at])
    page.key("v")
    page.until("closed", lambda: not is_open(page, "#photo"))
    page.click("#group .words")
    told_photo(page, FACTS[at][0], photos[at])
    page.key(Keys.ESCAPE)
    page.until("the group is still open", lambda: not is_open(page, "#photo") and is_open(page, "#group"))
    page.key(Keys.ESCAPE)
    page.until("closed", lambda: not is_open(page, "#group"))


def places(page):
    return page.js("['#left .crop', '#right .crop', '#same', '#list'].map(s => { const r = document.querySelector(s)"
                   ".getBoundingClientRect(); return [r.left, r.top + scrollY, r.width, r.height].map(Math.round); })")


def images_come_late(page, url):
    """Nothing moves when images arrive. Until then their area is blank; words replace images that are lost."""
    page.until("images are shown", lambda: page.js("[...document.querySelectorAll('.crop img')].every(i => "
                                                   "i.naturalWidth && !i.className)"))
    before = places(page)
    page.driver.execute_cdp_cmd("Network.enable", {})
    page.driver.execute_cdp_cmd("Network.setCacheDisabled", {"cacheDisabled": True})
    page.driver.execute_cdp_cmd("Fetch.enable", {"patterns": [{"urlPattern": "*/large/*"}]})  # they wait for ever
    page.open(url)
    assert page.js("[...document.querySelectorAll('.crop img')].every(i => i.className === 'wait' && "
                   "getComputedStyle(i).color === 'rgba(0, 0, 0, 0)')")
    assert places(page) == before, (places(page), before)
    page.driver.execute_cdp_cmd("Fetch.disable", {})
    page.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*/large/*"]})
    page.open(url)
    page.until("lost", lambda: page.js("[...document.querySelectorAll('.crop img')].every(i => i.className === 'lost' "
                                       "&& /: no image$/.test(i.getAttribute('aria-label')) && !i.getAttribute('src') "
                                       "&& !i.alt)"))
    assert places(page) == before, (places(page), before)
    page.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})
    page.driver.execute_cdp_cmd("Network.setCacheDisabled", {"cacheDisabled": False})
    page.complaints()  # of the blocked images


def fits_phone(page, url):
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True})
    page.open(url)
    for key in ("", "v", "o"):
        if key:
            page.key(key)
            page.until("open", lambda: page.all("dialog[open]"))
        assert page.js("document.documentElement.scrollWidth <= innerWidth"), key
        wide = page.js("[...document.querySelectorAll('button, dialog[open], #question *')].filter(e => "
                       "e.offsetWidth && (e.getBoundingClientRect().right > innerWidth + 1 || "
                       "e.matches('button:not(.card, .words)') && "
                       "e.scrollWidth > e.clientWidth)).map(e => e.outerHTML.slice(0, 99))")
        assert not wide, wide
        small = page.js("[...document.querySelectorAll('button')].filter(b => b.offsetWidth && (b.offsetHeight < 44 || "
                        "b.offsetWidth < 44)).map(b => b.outerHTML)")
        assert not small, small
        if key:
            page.key(Keys.ESCAPE)
            page.until("closed", lambda: not page.all("dialog[open]"))
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def told_crops(page):
    """Crops of photos and of a film in a folder of reid track, with photo, camera, time and category."""
    with Review("tracks", "--decisions", "told.jsonl", "--threshold", "0.999", "--suggest", "-1") as review:
        page.open(review.url)
        page.shot("told")
        page.is_quiet()
        look_at_photos(page, PHOTOS)
        page.complaints()  # one photo is gone
        words = " ".join(all_cards(page))
        assert "<b>&.png" in words and "east · 2024-05-31" in words
        assert "crops/" not in words.replace("crops/3.png", "")
        page.click("#text")
        page.key(*"2024-06-01")
        page.until("found by its day", lambda: len(page.cards()) == 1 and "gone.png" in page.cards()[0])
        page.js("document.querySelector('#text').value = ''")
        page.js("document.activeElement.blur()")
        images_come_late(page, review.url)
        fits_phone(page, review.url)
        page.open(review.url)
        assert page.one("#who").text == "Your name"
        page.key("d")  # --by was not given, so the page asks, once; the login's name is the default
        page.until("the name is asked for", lambda: is_open(page, "#person"))
        assert page.one("#your-name").get_attribute("value")
        page.shot("person")
        page.key(*ANSWERER, Keys.ENTER)
        page.seq(1)
        page.click("#who")
        page.until("it can be changed", lambda: is_open(page, "#person"))
        page.key(*"Bob", Keys.ENTER)
        page.until("changed", lambda: page.one("#who").text == "By Bob")
        page.key("u")
        page.seq(2)
        page.driver.refresh()
        page.seq(2)
        page.key("d")
        page.seq(3)
        assert [line["by"] for line in journal("told.jsonl")] == [ANSWERER, "Bob", "Bob"], journal("told.jsonl")
    page.driver.get("about:blank")
    page.complaints()  # that its server has stopped
    subprocess.run([REID, "review", "tracks", "--decisions", "none.jsonl", "--html", "told.html", "--threshold",
                    "0.999", "--suggest", "-1"], check=True)
    page.open("file://" + os.path.join(os.getcwd(), "told.html"))
    look_at_photos(page, PHOTOS)
    page.is_quiet()


def main():
    try:
        driver = browser()
    except WebDriverException as error:
        print("skipped: Chromium does not start here:", str(error).splitlines()[0])
        return 77
    page = Page(driver)
    review = Review("crops.npy", "--decisions", "d.jsonl", "--by", "ann", "--threshold", "0.6", "--suggest", "0.05")
    try:
        page.open(review.url)
        answer_by_keys_and_clicks(page)
        name_groups(page)
        split_group(page)
        filter_groups(page)
        two_tabs(page, review.url)
        reload(page)
        page.is_quiet()
        refused(page)
        answer_all(page)
        assert not [line for line in page.complaints() if "409" not in line]
        server_gone(page, review)
        page.complaints()
        single_file(page)
        told_crops(page)
        many_crops(page)
    finally:
        review.process.kill()
        driver.quit()
    return 0


sys.exit(main())
