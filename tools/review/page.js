'use strict';
/* The page of reid review. It shows only two things: the groups as they were computed (a layer, see layers), and the
   journal of decisions (lines), to which every tab and every other program adds. A decision counts when the server has
   acknowledged it with its line. The server computes new groups from all decisions in the background. A page that was
   written with --html has no server: its lines stay in the browser's storage until they are saved as a file.

   Names and file names are always put on the page as text, never as markup. */
(() => {

const one = (selector, within) => (within || document).querySelector(selector);
const make = (tag, kind, words) => {
  const element = document.createElement(tag);
  if (kind) element.className = kind;
  if (words !== undefined) element.textContent = words;
  return element;
};
const embedded = one('#data');
const pictures = embedded ? JSON.parse(one('#pictures').textContent) : null;
const photos = embedded ? new Map(JSON.parse(one('#photos').textContent)) : null;

let base = null;      // ids, photos, cameras, times, categories, by, asks, models: never change; group, score, names,
                      // doubts: those of the layer in use
let layers = [];      // groups as they were computed, the oldest first
let lines = [];       // the journal: line n is lines[n - 1]
let rowsOf = null;    // id to rows
let view = null;      // the result of both, see look()
let later = [];       // questions that were put off
let busy = false;
const mine = [];      // numbers of the lines that were made in this tab

const QUICK = 1;      // if grouping takes fewer seconds than this, it is repeated after every decision
const LAYERS = 8;     // number of layers that are kept

/* --- groups ----------------------------------------------------------------------------------------------------- */

const newest = () => layers[layers.length - 1];
const fresh = () => lines.length - newest().heeds; // decisions that the groups do not take into account yet
const isQuick = () => newest().seconds < QUICK;

/* Chooses the newest layer of which no decision was undone since it was computed, so that an undo takes effect at once.
   look() applies the decisions that came after the layer. */
function chooseLayer() {
  const undone = lines.filter(line => line.what === 'undo');
  const counts = layer => !undone.some(line => line.seq > layer.heeds && line.undoes <= layer.heeds);
  const layer = [...layers].reverse().find(counts) || layers[0];
  for (const field of ['group', 'score', 'names', 'doubts']) base[field] = layer[field];
  const before = line => line.seq > layers[0].heeds && line.seq <= layer.heeds;
  base.answered = lines.filter(line => before(line) && !line.undone && /same|different/.test(line.what)).length;
}

function takeLayer(layer) {
  if (layers.length && layer.version <= newest().version) return;
  layers.push(layer);
  if (layers.length > LAYERS) layers.splice(1, 1); // keeps the first layer, which depends on the fewest decisions
}

let following = false;
const pause = ms => new Promise(resolve => setTimeout(resolve, ms));

/* Waits for groups that are being computed at the request of this or another tab. Decisions that came in the meantime
   are included the next time. */
async function follow(begin) {
  if (embedded || following || !base) return;
  following = true;
  const asked = begin && !isQuick() ? fresh() : 0;
  try {
    let answer = begin ? await ask('regroup', {method: 'POST', headers: {'Content-Type': 'application/json'}}) : {};
    for (let wait = 100; ; wait = Math.min(1000, wait * 1.5)) {
      showRegroup();
      if (!answer.error) answer = await ask('groups/' + newest().version);
      if (answer.error) throw new Error(answer.error);
      if (answer.layer) {
        while (one('#group').open) await pause(100); // an open group must not change while somebody works on it
        takeLayer(answer.layer);
        show();
        if (asked) toast('Regrouped with ' + answersInWords(asked) + '.');
      }
      if (!answer.grouping) break;
      await pause(wait);
    }
    base.failed = 0;
  } catch (error) {
    base.failed = lines.length; // no automatic retry before the next decision
    toast(error.message, true);
  }
  following = false;
  showQuestion();
  showRegroup();
  regroupIfQuick();
}

/* Regroups automatically if that is quick or no questions are left, but not while a group is open. */
function regroupIfQuick() {
  if (one('#group').open) return;
  if (base.regroups && fresh() && base.failed !== lines.length && (isQuick() || !view.open.length)) follow(true);
}

const answersInWords = n => n === 1 ? '1 new answer' : n + ' new answers';

function regroup() {
  if (!base.regroups)
    return toast(embedded ? 'A saved page cannot regroup. Save the decisions, import them, and write the page again.'
                          : 'With --count the questions stay the same, so there is nothing to regroup.');
  if (!fresh()) return toast('The groups already take every answer into account.');
  return follow(true);
}

function showRegroup() {
  const button = one('#regroup'), waits = following || !fresh() || !base.regroups;
  button.hidden = base.regroups && isQuick();
  button.setAttribute('aria-disabled', waits);
  one('span', button).textContent = following ? 'Regrouping …' : 'Regroup';
  one('i', button).textContent = fresh() && base.regroups ? answersInWords(fresh()) : '';
  if (following) document.body.dataset.grouping = '';
  else delete document.body.dataset.grouping;
}

/* --- decisions in force ----------------------------------------------------------------------------------------- */

class Sets { // union-find
  constructor(n) { this.up = new Int32Array(n).map((_, i) => i); }
  of(i) {
    const up = this.up;
    while (up[i] !== i) i = up[i] = up[up[i]];
    return i;
  }
  join(a, b) { this.up[this.of(b)] = this.of(a); }
}

const pairKey = (a, b) => a < b ? a + '\n' + b : b + '\n' + a;

/* The last decision about each pair, and about the name of each crop, that was not undone. */
function holding() {
  const none = new Map(), names = new Map(), pairs = new Map();
  for (const line of lines) {
    if (line.undone || line.what === 'undo') continue;
    const [first, ...others] = line.crops;
    if (line.what === 'not a crop') for (const id of line.crops) none.set(id, line);
    else if (line.what === 'name') for (const id of line.crops) names.set(id, line);
    else for (const id of others) pairs.set(pairKey(first, id), {line, a: first, b: id});
  }
  const held = [...pairs.values()].filter(p => !none.has(p.a) && !none.has(p.b) && rowsOf.has(p.a) && rowsOf.has(p.b))
    .sort((p, q) => p.line.seq - q.line.seq);
  return {none, names, same: held.filter(p => p.line.what === 'same'),
          different: held.filter(p => p.line.what === 'different')};
}

/* Sets of crops that decisions have joined; any other crop is a set of its own. */
function chains(held) {
  const joined = new Sets(base.ids.length), members = new Map();
  const join = (x, y) => { for (const r of [...rowsOf.get(x), ...rowsOf.get(y)]) joined.join(rowsOf.get(x)[0], r); };
  for (const p of held.same) join(p.a, p.b);
  for (const p of held.same) for (const id of [p.a, p.b]) for (const r of rowsOf.get(id)) {
    const root = joined.of(r);
    if (!members.has(root)) members.set(root, new Set());
    members.get(root).add(r);
  }
  return {joined, together: r => members.get(joined.of(r)) || [r]};
}

/* Splits groups in which crops were decided to be different: the crops that differ from the first crop of a decision
   leave together, each with the crops that it is the same as. */
function fallApart(held, chain, piece) {
  let next = base.names.length;
  for (let r = 0; r < piece.length; r++) if (piece[r] < 0) piece[r] = next++; // was "not a crop" before
  let last = null, target = -1;
  for (const p of held.different) {
    if (p.line !== last) last = p.line, target = -1;
    const stays = p.line.crops[0], leaves = stays === p.a ? p.b : p.a;
    const from = piece[rowsOf.get(stays)[0]];
    for (const r of rowsOf.get(leaves)) {
      if (piece[r] !== from || chain.joined.of(r) === chain.joined.of(rowsOf.get(stays)[0])) continue;
      if (target < 0) target = next++;
      for (const with_ of chain.together(r)) if (piece[with_] === from) piece[with_] = target;
    }
  }
  return next;
}

/* Merges two groups if crops of them are the same, unless others of their crops are different: then only the crop, and
   those that it is the same as, move to the other group. */
function growTogether(held, chain, piece, count) {
  const sets = new Sets(count), enemies = new Map();
  const enemiesOf = i => enemies.get(i) || enemies.set(i, new Set()).get(i);
  for (const p of held.different) {
    const a = piece[rowsOf.get(p.a)[0]], b = piece[rowsOf.get(p.b)[0]];
    if (a !== b) enemiesOf(a).add(b), enemiesOf(b).add(a);
  }
  for (const p of held.same) {
    const row = rowsOf.get(p.b)[0], a = sets.of(piece[rowsOf.get(p.a)[0]]), b = sets.of(piece[row]);
    if (a === b) continue;
    if ([...enemiesOf(b)].some(e => sets.of(e) === a)) {
      for (const r of chain.together(row)) piece[r] = a;
      continue;
    }
    sets.join(a, b);
    for (const e of enemiesOf(b)) enemiesOf(a).add(e);
  }
  return sets;
}

function nameGroup(group, held, bases) {
  const named = group.rows.map(r => held.names.get(base.ids[r])).filter(Boolean).sort((a, b) => b.seq - a.seq);
  const words = new Set(named.map(line => line.name).filter(Boolean));
  group.namedRows = group.rows.filter(r => held.names.has(base.ids[r]));
  if (named.length) group.name = named[0].name;
  else for (const b of bases) if (base.names[b]) group.name = group.name || base.names[b], words.add(base.names[b]);
  group.also = [...words].filter(word => word !== group.name);
}

function look() {
  chooseLayer();
  const held = holding(), chain = chains(held), n = base.ids.length;
  const piece = Int32Array.from(base.group);
  const sets = growTogether(held, chain, piece, fallApart(held, chain, piece));
  const byRoot = new Map(), groupOf = new Array(n), nobody = {rows: [], name: '', also: [], namedRows: [], none: true};
  for (let r = 0; r < n; r++) {
    const root = sets.of(piece[r]);
    let group = nobody;
    if (!held.none.has(base.ids[r])) {
      if (!byRoot.has(root)) byRoot.set(root, {rows: [], name: '', also: [], bases: new Set()});
      group = byRoot.get(root);
      if (piece[r] < base.names.length) group.bases.add(piece[r]);
    }
    group.rows.push(r);
    groupOf[r] = group;
  }
  const groups = [...byRoot.values()];
  for (const group of groups) {
    group.rows.sort((a, b) => base.score[b] - base.score[a] || a - b);
    nameGroup(group, held, group.bases);
  }
  const differs = new Set(held.different.map(p => pairKey(chain.joined.of(rowsOf.get(p.a)[0]),
                                                          chain.joined.of(rowsOf.get(p.b)[0]))));
  const isOpen = ([a, b]) => {
    if (held.none.has(base.ids[a]) || held.none.has(base.ids[b])) return false;
    const x = chain.joined.of(a), y = chain.joined.of(b);
    if (x === y || differs.has(pairKey(x, y))) return false;
    return groupOf[a] !== groupOf[b] || base.group[a] === base.group[b];
  };
  const open = base.doubts.filter(isOpen);
  for (const [a, b] of open) groupOf[a].doubt = groupOf[b].doubt = true;
  groups.sort((a, b) => b.rows.length - a.rows.length || a.rows[0] - b.rows[0]);
  if (nobody.rows.length) groups.push(nobody);
  view = {groups, groupOf, open, nobody, isOpen};
}

/* --- decisions -------------------------------------------------------------------------------------------------- */

function takeLines(more) {
  for (const line of more) {
    if (line.seq !== lines.length + 1) continue; // already received with another answer
    lines.push(line);
    if (line.what === 'undo') lines[line.undoes - 1].undone = true;
  }
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    throw new Error('The server does not answer, so nothing was stored. Check that reid review is still running.');
  }
  const words = await response.text();
  let answer;
  try { answer = JSON.parse(words); } catch (error) { throw new Error(words || response.statusText); }
  return answer;
}

/* --- who answers ------------------------------------------------------------------------------------------------ */

/* The name stored with answers: the one given on this page, else that of --by, else "". */
let person = '';
const personStore = 'reid review by';

function restorePerson() {
  person = base.asks ? '' : base.by;
  try { person = localStorage.getItem(personStore) || person; } catch (error) { /* nothing was kept */ }
}

/* Asks for the name: once, before the first answer, and when the person wants to change it. */
async function askPerson() {
  const name = await askWords(one('#person'), one('#your-name'), person || base.by);
  if (!name) return false;
  person = name;
  try { localStorage.setItem(personStore, name); } catch (error) { /* asked again on the next visit */ }
  showPerson();
  return true;
}

function showPerson() { one('#who').replaceChildren(...person ? ['By ', make('b', '', person)] : ['Your name']); }

/* The answer has all lines that this tab has not seen; the last one is its own decision. */
async function send(what) {
  const answer = await ask('decide', {
    method: 'POST', headers: {'Content-Type': 'application/json'},
    body: JSON.stringify({...what, by: person, seen: lines.length})
  });
  if (answer.decisions) takeLines(answer.decisions);
  if (answer.error) throw new Error(answer.error);
  return answer.seq;
}

async function decide(...steps) {
  if (busy || !base) return false;
  busy = true;
  let good = !!person || await askPerson();
  if (!good) {
    busy = false;
    return false;
  }
  document.body.setAttribute('aria-busy', 'true');
  try {
    for (const step of steps) {
      const seq = embedded ? keepLine(step) : await send(step);
      if (step.what !== 'undo') mine.push(seq);
    }
  } catch (error) {
    good = false;
    toast(error.message, true);
  }
  busy = false;
  document.body.removeAttribute('aria-busy');
  show();
  regroupIfQuick();
  return good;
}

async function catchUp() {
  if (embedded || busy || !base || document.hidden) return;
  try {
    const before = lines.length, answer = await ask('since/' + before);
    takeLines(answer.decisions);
    if (answer.error) toast(answer.error, true);
    if (lines.length !== before) show();
    if (answer.version > newest().version || answer.grouping) follow(false);
    else regroupIfQuick();
  } catch (error) {
    toast(error.message, true);
  }
}

const ids = rows => rows.map(r => base.ids[r]);

/* Undoes the last decision in force that was made in this tab, or else the last one of all. */
function undoLast() {
  while (mine.length && lines[mine[mine.length - 1] - 1].undone) mine.pop();
  const holds = lines.filter(line => line.what !== 'undo' && !line.undone);
  const seq = mine.length ? mine[mine.length - 1] : holds.length ? holds[holds.length - 1].seq : 0;
  if (!seq) return toast('There is nothing to undo.');
  return undo(seq);
}

/* Undoes a line; its question is asked again as soon as the journal has the undo. */
async function undo(seq) {
  if (busy) return;
  const line = lines[seq - 1], about = new Set(line.crops), enough = line.what === 'not a crop' ? 1 : 2;
  const again = layers.flatMap(layer => layer.doubts)
    .find(d => d.slice(0, 2).filter(r => about.has(base.ids[r])).length >= enough);
  returning = again || null, later = later.filter(d => d !== again);
  if (await decide({what: 'undo', undoes: seq})) toast('Undone: ' + inWords(line));
  returning = null;
}

async function notCrops(rows) {
  const steps = [];
  for (let i = 0; i < rows.length; i += 1000) steps.push({what: 'not a crop', crops: ids(rows.slice(i, i + 1000))});
  return decide(...steps);
}

/* Names a group by naming all of its crops that have a name; if none has, the crop that fits best gets it. */
async function nameIt(group) {
  const name = await askName(group.name);
  if (name === null || name === group.name) return;
  const rows = group.namedRows.length ? group.namedRows : group.rows.slice(0, 1), steps = [];
  for (let i = 0; i < rows.length; i += 1000) steps.push({what: 'name', crops: ids(rows.slice(i, i + 1000)), name});
  await decide(...steps);
}

function inWords(line) {
  const few = line.crops ? line.crops.map(labelOf) : [];
  const list = few.length > 4 ? few.slice(0, 3).join(', ') + ' and ' + (few.length - 3) + ' more' : few.join(', ');
  switch (line.what) {
  case 'same': return list + ': the same';
  case 'different':
    return few[0] + ' is not ' + (few.length > 4 ? few.length - 1 + ' others' : few.slice(1).join(', '));
  case 'not a crop':
    return list + ': ' + nothing(line.crops.flatMap(id => rowsOf.get(id) || [])).toLowerCase();
  case 'name': return list + (line.name ? ' is called ' + line.name : ' has no name');
  default: return 'decision ' + line.undoes + ' was undone';
  }
}

/* --- what is known of crops -------------------------------------------------------------------------------------- */

/* The file name with its folder: file names alone often repeat. */
const short = id => id.split('/').slice(-2).join('/') || id;

const fact = (field, row) => base[field] && base[field][row] || '';
const label = row => fact('photos', row) || short(base.ids[row]);
const labelOf = id => rowsOf.has(id) ? [fact('cameras', rowsOf.get(id)[0]), label(rowsOf.get(id)[0])]
  .filter(Boolean).join('/') : short(id);
const taken = row => [fact('cameras', row), fact('times', row)].filter(Boolean).join(' · ');
/* The same for a narrow place, which breaks lines only between camera, date and time. */
function takenParts(row) {
  const camera = fact('cameras', row), time = fact('times', row);
  return [camera && time ? camera + ' ·' : camera, ...time.split(' ')].filter(Boolean)
    .flatMap((part, i) => i ? [' ', make('span', '', part)] : [make('span', '', part)]);
}
const isOfFilm = row => /^\d+:\d\d:\d\d$/.test(fact('times', row));

/* Cameras and days of a group. */
function summary(rows) {
  const all = field => [...new Set(rows.map(r => fact(field, r)).filter(Boolean))].sort();
  const cameras = all('cameras'), days = [...new Set(all('times').map(t => t.includes('-') ? t.slice(0, 10) : t))];
  const where = cameras.length > 2 ? cameras.length + ' cameras' : cameras.join(', ');
  const when = days.length > 1 ? days[0] + ' – ' + days[days.length - 1] : days.join('');
  return [where, when].filter(Boolean).join(' · ');
}

/* What "not a crop", as the journal calls it, means for these crops in the words of their detector. */
const NOTHING = {animal: 'Not an animal', person: 'Not a person', vehicle: 'Not a vehicle'};
function nothing(rows) {
  const kinds = new Set(rows.map(r => fact('categories', r)));
  return kinds.size === 1 && NOTHING[[...kinds][0]] || 'Not an individual';
}

/* --- without a server ------------------------------------------------------------------------------------------- */

const store = () => 'reid review ' + base.key;

function keepLine(step) {
  const line = {seq: lines.length + 1, ...step, by: person, when: new Date().toISOString(), models: base.models};
  takeLines([line]);
  try {
    localStorage.setItem(store(), JSON.stringify(lines.slice(base.known)));
  } catch (error) { /* the line is lost when the page is closed */ }
  return line.seq;
}

function restore() {
  try {
    const kept = JSON.parse(localStorage.getItem(store()) || '[]');
    takeLines(kept.map(line => ({...line, undone: undefined})));
  } catch (error) { /* nothing was kept */ }
}

function checksum(bytes) { // CRC-32 as of PNG
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let k = 0; k < 8; k++) sum = sum & 1 ? sum >>> 1 ^ 0xedb88320 : sum >>> 1;
  }
  return (~sum >>> 0).toString(16).padStart(8, '0');
}

/* All lines in the format that reid reads. */
function journal() {
  const fields = ['seq', 'what', 'undoes', 'crops', 'name', 'by', 'when', 'models'];
  return lines.map(line => {
    const parts = fields.filter(f => line[f] !== undefined).map(f => `"${f}": ${JSON.stringify(line[f])}`);
    const body = '{' + parts.join(', ');
    return `${body}, "crc": "${checksum(new TextEncoder().encode(body))}"}\n`;
  }).join('');
}

function save() {
  const link = make('a');
  link.href = URL.createObjectURL(new Blob([journal()], {type: 'application/x-ndjson'}));
  link.download = 'decisions.jsonl';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  toast('Saved as decisions.jsonl. Import it with reid review --import.');
}

/* --- images ------------------------------------------------------------------------------------------------------ */

/* Images that come into view are loaded when scrolling has stopped; those that only pass are not. */
let waiting = [], timer = 0;
function picture(row, large, now) {
  const image = prepare(make('img'));
  image.alt = label(row);
  image.decoding = 'async';
  image.draggable = false;
  if (now) fill(image, row, large ? 'large' : 'small');
  else {
    waiting.push([image, row, large]);
    clearTimeout(timer);
    timer = setTimeout(() => {
      for (const [img, r, big] of waiting) if (img.isConnected) fill(img, r, big ? 'large' : 'small');
      waiting = [];
    }, 60);
  }
  return image;
}

/* An image is a blank area until it has arrived; if it cannot be shown, words take its place. */
function prepare(image) {
  image.className = 'wait';
  image.onload = () => { image.className = ''; };
  image.onerror = () => lose(image);
  return image;
}
function lose(image) {
  image.dataset.lost = image.getAttribute('src') || '';
  image.className = 'lost';
  image.removeAttribute('src');
  hideAlt(image);
}
/* Without this, the browser draws its icon for a broken image. */
function hideAlt(image) {
  if (image.alt) image.setAttribute('aria-label', image.alt + ': no image');
  image.alt = '';
}

const dataOf = bytes => bytes && 'data:image/jpeg;base64,' + bytes;
function fill(image, row, size) { setSource(image, pictures ? dataOf(pictures[row]) : size + '/' + row); }
function setSource(image, address) {
  if (image.dataset.lost === address) return hideAlt(image);
  if (image.getAttribute('src') === address) return;
  image.className = 'wait';
  image.removeAttribute('aria-label');
  delete image.dataset.lost;
  if (address) image.src = address;
  else lose(image);
}

/* --- whole photos ------------------------------------------------------------------------------------------------ */

let looked = [], lookedAt = 0; // rows whose photos can be shown one after the other; the one that is shown

function showPhoto(rows, at) {
  const dialog = one('#photo');
  looked = rows, lookedAt = at;
  if (!dialog.open) dialog.showModal();
  drawPhoto();
}

function drawPhoto() {
  const dialog = one('#photo'), row = looked[lookedAt], image = one('img', dialog), words = one('.quiet', dialog);
  const address = photos ? dataOf(photos.get(row)) : isOfFilm(row) ? '' : 'photo/' + row;
  const only = why => {
    words.textContent = why;
    image.alt = 'The crop ' + label(row);
    prepare(image);
    image.onerror = () => {
      lose(image);
      words.textContent = 'Neither the photo nor the crop can be read.';
    };
    fill(image, row, 'large');
  };
  one('h2', dialog).textContent = label(row);
  one('h2', dialog).title = base.ids[row];
  one('.soft', dialog).textContent = taken(row);
  words.textContent = '';
  prepare(image);
  if (isOfFilm(row)) only('The frames of videos are not shown here; this is only the crop.');
  else if (!address && fact('photos', row))
    only('The whole photo is not in this page' +
      (photos.has(row) ? ', because it could not be read when the page was written' : '') + '; this is only the crop.');
  else if (!address) only('');
  else {
    image.alt = 'The photo ' + label(row) + ', with a box around the crop';
    image.onerror = () => only('The photo ' + label(row) +
      ' has been moved or cannot be read; this is only the crop.');
    setSource(image, address);
  }
}

function stepPhoto(by) {
  if (!looked[lookedAt + by] && looked[lookedAt + by] !== 0) return;
  lookedAt += by;
  drawPhoto();
}

/* --- the question ------------------------------------------------------------------------------------------------ */

let asked = null, returning = null; // the present question; the one to ask as soon as it is open again

function nextQuestion() {
  if (returning && view.isOpen(returning)) return returning;
  const same = d => p => p[0] === d[0] && p[1] === d[1];
  later = later.filter(d => view.open.some(same(d)));
  if (asked && view.isOpen(asked) && !later.some(same(asked))) return asked; // even if the new groups would not ask it
  const putOff = new Set(later.map(d => d[0] + ' ' + d[1]));
  return view.open.find(d => !putOff.has(d[0] + ' ' + d[1])) || later[0] || null;
}

function showSide(side, row, other) {
  const figure = one('#' + side), group = view.groupOf[row], image = one('.crop img', figure);
  if (!image.onload) prepare(image);
  image.alt = label(row);
  fill(image, row, 'large');
  one('b', figure).textContent = (group.name || 'Unnamed') + ' · ' + count(group.rows.length);
  one('b', figure).className = group.name ? '' : 'unnamed';
  one('.photo', figure).textContent = fact('photos', row) || base.ids[row];
  one('.taken', figure).replaceChildren(...takenParts(row));
  one('figcaption', figure).title = base.ids[row];
  one('.none span', figure).textContent = nothing([row]);
  const others = group.rows.filter(r => r !== row && r !== other).slice(0, 8);
  const strip = one('.others', figure), key = others.join(' ');
  if (strip.dataset.rows !== key) {
    strip.dataset.rows = key;
    strip.replaceChildren(...others.map(r => Object.assign(picture(r, false, true), {title: caption(r)})));
  }
}
const caption = row => [label(row), taken(row)].filter(Boolean).join(' · ');

/* The number of all questions, including those that the groups already take into account. */
const total = () => base.answered + base.doubts.length;

function showQuestion() {
  asked = nextQuestion();
  one('#question').hidden = !asked;
  one('#finished').hidden = !!asked;
  const more = following && fresh() > 0;
  one('#finished h2').textContent = more ? 'Regrouping with all answers …' : 'No questions are left.';
  one('#finished p').hidden = more;
  if (!asked) return;
  const [a, b, score] = asked;
  one('#score').textContent = 'score ' + score.toFixed(3) + ' · ' + view.open.length + ' of ' + total() + ' left' +
    (view.groupOf[a] === view.groupOf[b] ? ' · in one group now' : '');
  showSide('left', a, b);
  showSide('right', b, a);
  one('#question').dataset.pair = base.ids[a] + '\n' + base.ids[b];
}

const answers = {
  same: () => asked && decide({what: 'same', crops: ids(asked.slice(0, 2))}),
  different: () => asked && decide({what: 'different', crops: ids(asked.slice(0, 2))}),
  skip: () => {
    if (!asked) return;
    later = later.filter(d => d !== asked).concat([asked]);
    asked = null;
    show();
  },
  none: side => asked && notCrops([asked[side]]),
  name: side => asked && nameIt(view.groupOf[asked[side]]),
  open: side => asked && openGroup(view.groupOf[asked[side]]),
  photo: side => asked && showPhoto(asked.slice(0, 2), side),
};

/* --- the list of groups ------------------------------------------------------------------------------------------ */

/* Small groups share a line. All lines have the same height, so the position of a line follows from its number. */
const PLAIN = 158, TOLD = 180, GAP = 8, CROP = 112, LEAST = 176;
const lineHeight = () => base.cameras || base.times ? TOLD : PLAIN; // with a line for cameras and days
let listed = [], packed = [], drawn = new Map(), lower = null;

function wanted(group) {
  const words = one('#text').value.trim().toLowerCase();
  if (one('#doubtful').checked && !group.doubt) return false;
  if (one('#unnamed').checked && (group.name || group.none)) return false;
  if (group.rows.length < Math.max(1, +one('#least').value || 1)) return false;
  return !words || group.name.toLowerCase().includes(words) || group.rows.some(r => lower[r].includes(words));
}

const count = crops => crops === 1 ? '1 crop' : crops + ' crops';

function makeCard(group, width) {
  const button = make('button', 'card'), what = make('div', 'what'), strip = make('div', 'strip');
  const fits = Math.max(1, Math.floor((width - 24 + 8) / CROP)), crops = group.rows.length;
  what.append(make('b', group.name ? '' : 'unnamed', title(group)));
  if (crops > 1) what.append(make('small', '', count(crops)));
  if (group.also.length) what.append(make('span', 'mark', 'also called ' + group.also.join(', ')));
  if (group.doubt) what.append(Object.assign(make('span', 'mark', '?'), {title: 'in doubt'}));
  const rows = crops > fits ? group.rows.slice(0, Math.max(1, fits - 1)) : group.rows;
  strip.append(...rows.map(r => picture(r)));
  if (crops > rows.length) strip.append(make('small', '', '+ ' + (crops - rows.length)));
  button.append(what, strip);
  if (lineHeight() === TOLD) button.append(make('small', 'told', summary(group.rows)));
  button.title = 'Open the group of ' + base.ids[group.rows[0]];
  button.style.width = width + 'px';
  button.onclick = () => openGroup(group);
  return button;
}

const title = group => group.none ? nothing(group.rows) : group.name || label(group.rows[0]);

/* Distributes the groups over lines, each with its width. */
function pack(groups, width) {
  const all = [];
  let line = [], used = 0;
  for (const group of groups) {
    const wish = Math.min(width, Math.max(LEAST, group.rows.length * CROP + 16));
    if (line.length && used + GAP + wish > width) all.push(line), line = [], used = 0;
    used += wish + (line.length ? GAP : 0);
    line.push({group, width: wish});
  }
  if (line.length) all.push(line);
  return all;
}

function drawLines() {
  const top = -one('#groups').getBoundingClientRect().top;
  const first = Math.max(0, Math.floor(top / (lineHeight() + GAP)) - 2);
  const end = Math.min(packed.length, Math.ceil((top + innerHeight) / (lineHeight() + GAP)) + 4);
  for (const [i, line] of drawn) if (i < first || i >= end) line.remove(), drawn.delete(i);
  for (let i = first; i < end; i++) {
    if (drawn.has(i)) continue;
    const line = make('div', 'line');
    line.append(...packed[i].map(card => makeCard(card.group, card.width)));
    line.style.top = i * (lineHeight() + GAP) + 'px';
    drawn.set(i, line);
    one('#groups').append(line);
  }
}

function showGroups() {
  listed = view.groups.filter(wanted);
  packed = pack(listed, one('#groups').clientWidth);
  for (const line of drawn.values()) line.remove();
  drawn.clear();
  one('#groups').style.height = packed.length * (lineHeight() + GAP) + 'px';
  one('#found').textContent = listed.length === view.groups.length ? '' : listed.length + ' of ' + view.groups.length;
  drawLines();
}

/* --- one group --------------------------------------------------------------------------------------------------- */

let opened = null, chosen = new Set(), cells = new Map();

function openGroup(group) {
  opened = group;
  chosen = new Set();
  const dialog = one('#group');
  if (!dialog.open) dialog.showModal();
  showGroup();
}

/* The size of an image with the words below it and the gap. */
function cellSize() {
  const narrow = innerWidth <= 640, side = narrow ? 112 : 144;
  return {across: side, down: side + (lineHeight() === PLAIN ? 46 : narrow ? 66 : 62)};
}

function showGroup() {
  const dialog = one('#group');
  if (!dialog.open) return;
  for (const cell of cells.values()) cell.remove();
  cells.clear();
  one('#group-title').textContent = title(opened) + ' · ' + count(opened.rows.length);
  drawCells();
}

function drawCells() {
  const area = one('#group .cells'), size = cellSize();
  const across = Math.max(1, Math.floor(area.clientWidth / size.across));
  const first = Math.max(0, Math.floor(area.scrollTop / size.down) - 1) * across;
  const end = Math.min(opened.rows.length, (Math.ceil((area.scrollTop + area.clientHeight) / size.down) + 1) * across);
  let space = one('.extent', area);
  if (!space) area.append(space = make('div', 'extent'));
  space.style.height = area.style.height = Math.ceil(opened.rows.length / across) * size.down + 'px';
  for (const [i, cell] of cells) if (i < first || i >= end) cell.remove(), cells.delete(i);
  for (let i = first; i < end; i++) {
    if (cells.has(i)) continue;
    const cell = makeCell(i, size);
    cell.style.top = Math.floor(i / across) * size.down + 'px';
    cell.style.left = i % across * size.across + 'px';
    cells.set(i, cell);
    area.append(cell);
  }
  enableGroup();
}

/* The image chooses a crop; the words below it, or V, open its photo. */
function makeCell(i, size) {
  const row = opened.rows[i], cell = make('div', 'cell');
  const pick = make('button', 'pick'), words = make('button', 'words');
  cell.style.width = size.across - 8 + 'px';
  cell.style.height = size.down - 8 + 'px';
  cell.title = base.ids[row];
  cell.dataset.at = i;
  pick.setAttribute('aria-pressed', chosen.has(row));
  pick.append(picture(row));
  pick.onclick = () => {
    if (!chosen.delete(row)) chosen.add(row);
    pick.setAttribute('aria-pressed', chosen.has(row));
    enableGroup();
  };
  const where = make('div');
  where.append(...takenParts(row));
  words.append(make('b', '', label(row)), where);
  words.setAttribute('aria-label', 'Show the photo of ' + caption(row));
  words.tabIndex = -1; // one stop for each crop: V does the same
  words.onclick = () => showPhoto(opened.rows, i);
  cell.append(pick, words);
  return cell;
}

function enableGroup() {
  const n = chosen.size;
  one('#group .split').disabled = opened.none || n === 0 || n === opened.rows.length;
  one('#group .together').disabled = opened.none || n < 2;
  one('#group .none').disabled = opened.none || n === 0;
  one('#group .name').disabled = !!opened.none;
  one('#group .none span').textContent = nothing(n ? [...chosen] : opened.rows);
}

/* Shows the group that now has most of the crops of the open one. */
function reopen() {
  if (!one('#group').open) return;
  const before = opened.rows, counts = new Map();
  for (const r of before) if (!chosen.has(r)) counts.set(view.groupOf[r], (counts.get(view.groupOf[r]) || 0) + 1);
  const best = [...counts].sort((a, b) => b[1] - a[1])[0];
  opened = best ? best[0] : view.groupOf[before[0]];
  chosen = new Set([...chosen].filter(r => view.groupOf[r] === opened));
  showGroup();
}

const inGroup = {
  split: () => {
    const stays = opened.rows.find(r => !chosen.has(r)), rows = opened.rows.filter(r => chosen.has(r)), steps = [];
    if (!rows.length || stays === undefined) return;
    for (let i = 0; i < rows.length; i += 999)
      steps.push({what: 'different', crops: ids([stays, ...rows.slice(i, i + 999)])});
    decide(...steps);
  },
  together: () => chosen.size > 1 && decide({what: 'same', crops: ids([...chosen].slice(0, 1000))}),
  none: () => chosen.size && notCrops([...chosen]),
  name: () => opened.none || nameIt(opened),
  photo: () => {
    const cell = document.activeElement.closest('.cell');
    showPhoto(opened.rows, cell ? +cell.dataset.at : 0);
  },
};

/* --- names ------------------------------------------------------------------------------------------------------- */

let answered = null; // called with the text, or null, when the dialog that asks for it closes

/* Asks for text in a dialog with one field. Resolves to the text, or to null if the dialog is cancelled. */
function askWords(dialog, field, now) {
  field.value = now;
  dialog.returnValue = '';
  dialog.showModal();
  field.select();
  return new Promise(resolve => { answered = resolve; });
}

function askName(now) {
  const known = [...new Set(view.groups.map(g => g.name).filter(Boolean))].sort();
  one('#known').replaceChildren(...known.map(name => Object.assign(make('option'), {value: name})));
  return askWords(one('#naming'), one('#new-name'), now);
}

function connectWords(dialog, field) {
  one('button[value=cancel]', dialog).addEventListener('click', () => dialog.close(''));
  dialog.addEventListener('close', () => {
    const resolve = answered;
    answered = null;
    if (resolve) resolve(dialog.returnValue === 'ok' ? field.value.trim() : null);
  });
}

/* --- everything -------------------------------------------------------------------------------------------------- */

let toastTimer = 0;
function toast(words, bad) {
  const element = one('#toast'), dialogs = [...document.querySelectorAll('dialog[open]')];
  (dialogs[dialogs.length - 1] || document.body).append(element); // an open dialog covers everything else
  element.textContent = words;
  element.className = bad ? 'bad' : '';
  element.hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { element.hidden = true; }, bad ? 12000 : 4000);
}

function showHistory() {
  const details = one('#history');
  one('summary', details).textContent = 'Decisions (' + lines.length + ')';
  if (!details.open) return;
  one('ol', details).replaceChildren(...lines.slice(-100).reverse().map(line => {
    const item = make('li'), holds = line.what !== 'undo' && !line.undone, words = make('span', '', inWords(line));
    if (line.undone) words.className = 'undone';
    item.append(words, make('small', '', line.by + ', ' + new Date(line.when).toLocaleString()));
    if (holds) item.append(Object.assign(make('button', 'plain', 'Undo'), {onclick: () => undo(line.seq)}));
    return item;
  }));
}

function showCounts() {
  const groups = view.groups.filter(g => !g.none), named = groups.filter(g => g.name).length;
  const done = total() - view.open.length, share = view.open.length ? done / total() : 1;
  one('#counts').textContent = count(base.ids.length) + ' · ' + groups.length +
    (groups.length === 1 ? ' group' : ' groups') + (named ? ', ' + named + ' named' : '');
  one('#progress i').style.width = 100 * share + '%';
  one('#progress').setAttribute('aria-valuenow', Math.round(100 * share));
  one('#progress').title = done + ' of ' + total() + ' questions answered';
  one('#undo').disabled = !lines.some(line => line.what !== 'undo' && !line.undone);
  one('#save').disabled = lines.length === base.known;
}

function show() {
  look();
  showCounts();
  showQuestion();
  showGroups();
  showHistory();
  showRegroup();
  reopen();
  document.body.dataset.seq = lines.length; // which line the page shows
}

const keys = {
  s: answers.same, d: answers.different, l: answers.skip, u: undoLast, n: () => answers.name(0),
  m: () => answers.name(1), o: () => answers.open(0), p: () => answers.open(1), 1: () => answers.none(0),
  2: () => answers.none(1), v: () => answers.photo(0), b: () => answers.photo(1), r: regroup,
  '?': () => one('#keys').showModal(), '/': () => one('#text').focus(),
};
const groupKeys = {
  x: inGroup.split, s: inGroup.together, c: inGroup.none, n: inGroup.name, v: inGroup.photo, u: undoLast,
};
const closePhoto = () => one('#photo').close();
const photoKeys = {arrowleft: () => stepPhoto(-1), arrowright: () => stepPhoto(1), v: closePhoto, b: closePhoto};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || !base) return;
  if (event.target.matches('input:not([type=checkbox])')) return;
  if (one('#naming').open || one('#person').open || one('#keys').open) return;
  const action = (one('#photo').open ? photoKeys : one('#group').open ? groupKeys : keys)[event.key.toLowerCase()];
  if (!action) return;
  event.preventDefault();
  action();
}

function connect() {
  const click = (selector, action) => one(selector).addEventListener('click', action);
  click('#same', answers.same), click('#different', answers.different), click('#skip', answers.skip);
  click('#undo', undoLast), click('#regroup', regroup);
  click('#save', save), click('#help', () => one('#keys').showModal());
  ['#left', '#right'].forEach((side, i) => {
    click(side + ' .none', () => answers.none(i));
    click(side + ' .name', () => answers.name(i));
    click(side + ' .group', () => answers.open(i));
    click(side + ' .crop', () => answers.photo(i));
  });
  for (const name of ['split', 'together', 'none', 'name']) click('#group .' + name, inGroup[name]);
  for (const button of document.querySelectorAll('dialog .close'))
    button.addEventListener('click', () => button.closest('dialog').close());
  connectWords(one('#naming'), one('#new-name'));
  connectWords(one('#person'), one('#your-name'));
  click('#who', askPerson);
  one('#group').addEventListener('close', regroupIfQuick);
  for (const id of ['#text', '#doubtful', '#unnamed', '#least']) one(id).addEventListener('input', showGroups);
  one('#history').addEventListener('toggle', showHistory);
  let frame = 0;
  const soon = draw => () => { if (!frame) frame = requestAnimationFrame(() => { frame = 0; draw(); }); };
  addEventListener('scroll', soon(drawLines), {passive: true});
  one('#group .cells').addEventListener('scroll', soon(drawCells), {passive: true});
  addEventListener('resize', soon(() => { showGroups(); showGroup(); }));
  addEventListener('keydown', onKey);
  addEventListener('visibilitychange', catchUp);
  if (!embedded) setInterval(catchUp, 3000);
}

async function begin() {
  try {
    base = embedded ? JSON.parse(embedded.textContent) : await ask('data');
  } catch (error) {
    toast(error.message, true);
    return;
  }
  layers = [base.layer];
  rowsOf = new Map();
  base.ids.forEach((id, r) => rowsOf.has(id) ? rowsOf.get(id).push(r) : rowsOf.set(id, [r]));
  lower = base.ids.map((id, r) => [id, caption(r)].join('\n').toLowerCase());
  takeLines(base.decisions);
  base.known = lines.length;
  if (embedded) {
    base.key = embedded.nonce || checksum(new TextEncoder().encode(base.ids.join('\n')));
    one('#save').hidden = false;
    restore();
  }
  restorePerson();
  showPerson();
  document.body.classList.toggle('tells', lineHeight() === TOLD);
  connect();
  show();
  regroupIfQuick();
}
begin();
})();
