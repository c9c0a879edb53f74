#include "report/match_page.h"

/* Text has a contrast of at least 4.5 to what is behind it, bars and borders that mean something of 3. The two kinds of
   scores are blue and orange, which are told apart by nearly everybody. */
const char *const page_style[] = {
    ":root{color-scheme:light dark;--paper:#fafaf7;--ink:#22251f;--soft:#5c6158;--card:#fff;--line:#dfe0d8;"
    "--edge:#84897e;--yes:#27704a;--no:#b3402e;--new:#80641a;--own:#1f66b0;--other:#b8610f}"
    "@media(prefers-color-scheme:dark){:root{--paper:#191b18;--ink:#e9eae4;--soft:#adb2a7;--card:#232622;"
    "--line:#383c36;--edge:#7c8277;--yes:#6cc795;--no:#f0907e;--new:#dcbd67;--own:#6fb0f5;--other:#eea65e}}"
    "*{box-sizing:border-box}"
    "body{margin:0 auto;max-width:112rem;padding:2rem clamp(1rem,2.5vw,3rem) 4rem;background:var(--paper);"
    "color:var(--ink);font:16px/1.5 system-ui,sans-serif}h1{font-size:1.9rem;margin:0;line-height:1.2}"
    "h2{margin:2.4rem 0 .6rem;font-size:1.25rem}p{max-width:52rem}a{color:var(--own)}"
    "code{font-size:.9em;background:var(--card);border:1px solid var(--line);border-radius:4px;padding:.05em .3em;"
    "overflow-wrap:anywhere}.soft{color:var(--soft)}.note{border-left:4px solid var(--new);background:var(--card);"
    "padding:.6rem 1rem;max-width:52rem}",
    /* figures: equal boxes in full rows */
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,9.5rem),1fr));gap:.8rem;"
    "margin:1.2rem 0;max-width:80rem}.tile{background:var(--card);border:1px solid var(--line);border-radius:10px;"
    "padding:.7rem 1rem}.tile b{display:block;font-size:1.7rem;line-height:1.25;font-variant-numeric:tabular-nums;"
    "white-space:nowrap}.tile span{display:block;color:var(--soft);font-size:.9rem;line-height:1.35}",
    /* pictures */
    "img,.none{display:block;width:100%;height:auto;aspect-ratio:1;object-fit:contain;background:var(--line);"
    "border-radius:6px}.none{display:grid;place-items:center;text-align:center;padding:.3rem;font-size:.8rem;"
    "color:var(--ink)}",
    /* filters: radio buttons that look like tabs; a query is left out by the rules below */
    ".filter{position:absolute;opacity:0}.filter+label{display:inline-block;margin:.8rem .5rem .2rem 0;"
    "padding:.35rem .9rem;border:1px solid var(--edge);border-radius:999px;background:var(--card);cursor:pointer}"
    ".filter:checked+label{background:var(--ink);color:var(--paper);border-color:var(--ink)}"
    ".filter:focus-visible+label{outline:3px solid var(--own);outline-offset:2px}"
    ".filter:disabled+label{color:var(--soft);border-style:dashed;cursor:default}"
    "#doubtful:checked~.queries .card:not(.doubt),#wrong:checked~.queries .card:not(.no){display:none}"
    "#doubtful:checked~.queries:not(:has(.doubt)),#wrong:checked~.queries:not(:has(.no)){display:none}",
    /* queries */
    ".cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,15.5rem),1fr));gap:1rem}"
    ".card{background:var(--card);border:1px solid var(--line);border-top:5px solid var(--edge);border-radius:10px;"
    "padding:.7rem;break-inside:avoid;content-visibility:auto;contain-intrinsic-size:auto 26rem}"
    ".card.yes{border-top-color:var(--yes)}.card.no{border-top-color:var(--no)}.card.new{border-top-color:var(--new)}"
    ".card h3{margin:.5rem 0 .1rem;font-size:1.05rem;line-height:1.3;overflow-wrap:anywhere}"
    ".card p{margin:.1rem 0;font-size:.85rem;line-height:1.35;overflow-wrap:anywhere}"
    ".yes .mark{color:var(--yes)}.no .mark{color:var(--no)}.new .mark{color:var(--new)}"
    ".best{display:grid;grid-template-columns:repeat(3,1fr);gap:.5rem;margin:.6rem 0 0;padding:0;list-style:none}"
    ".best li{font-size:.8rem;line-height:1.3;overflow-wrap:anywhere}.best b{display:block;"
    "font-variant-numeric:tabular-nums}"
    "@media(max-width:560px){.seen{display:grid;grid-template-columns:2fr 3fr;gap:.8rem}.card h3{margin-top:0}}",
    /* individuals */
    ".who{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,20rem),1fr));gap:1rem}"
    ".row{display:grid;grid-template-columns:repeat(4,1fr);gap:.4rem}.who h3{margin:.2rem 0;font-size:1rem}",
    /* tables and charts */
    ".wide{overflow-x:auto}table{border-collapse:collapse}td,th{padding:.3rem .9rem .3rem 0;text-align:right;"
    "vertical-align:bottom;border-bottom:1px solid var(--line);font-variant-numeric:tabular-nums}"
    "td:first-child,th:first-child{text-align:left}"
    "figure{margin:1rem 0;max-width:60rem}figcaption{display:flex;flex-wrap:wrap;gap:.2rem 1.4rem;margin:0 0 .4rem}"
    ".key{display:inline-block;width:.85em;height:.85em;border-radius:2px;margin-right:.45em}"
    ".own{background:var(--own)}.other{background:var(--other)}.at{height:0;width:1.6em;vertical-align:.25em;"
    "border-top:2px dashed var(--ink);border-radius:0}"
    "svg{display:block;width:100%;height:auto}svg text{fill:var(--ink);font-size:13px}svg .axis{stroke:var(--edge)}"
    "svg .grid{stroke:var(--line)}svg .own{fill:var(--own)}svg .other{fill:var(--other)}"
    "svg .threshold{stroke:var(--ink);stroke-width:2;stroke-dasharray:5 4}",
    /* a drawing is smaller on a phone, its letters are not */
    "@media(max-width:960px){svg text{font-size:20px}}@media(max-width:560px){svg text{font-size:32px}}",
    NULL
};
