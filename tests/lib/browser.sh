# browser.sh: a real Chromium, driven by Selenium from PyPI, for tests of pages. Sourced from the top of the repository.
#
#     need_browser        chromium, chromedriver and $python with selenium; ends the test with status 77 if they
#                         are not available

. tools/setup.sh
. tests/lib/python.sh

need_browser() {
    if [ -n "$(setup_missing chromium:chromium chromedriver:chromium-driver)" ]; then
        (need_packages chromium:chromium chromedriver:chromium-driver) > /dev/null 2>&1 || {
            echo 'skipped: no chromium with chromedriver here (Debian: chromium, chromium-driver)'
            exit 77
        }
    fi
    need_python venv_selenium selenium==4.27.1
}
