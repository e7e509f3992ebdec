// Numbers in words, elements, scales and paths: what every chart needs.

const SVG = 'http://www.w3.org/2000/svg';

// An element with attributes and children; text is text, never markup.
function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(key, value === true ? '' : value);
    }
  }
  element.append(...children);
  return element;
}

function shape(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// As many significant digits, as the tables of this page write them.
function significant(x, digits = 4) {
  if (x === null || x === undefined || Number.isNaN(x)) return '–';
  if (x === 0) return '0';
  const size = Math.abs(x);
  if (size < 1e-4 || size >= 1e7) return x.toExponential(digits - 1).replace('e+', 'e');
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return x.toFixed(Math.min(decimals, 12));
}

function scaled(x, unit) {
  if (x === null || Number.isNaN(x)) return '–';
  const prefixes = ['', 'k', 'M', 'G', 'T', 'P'];
  let power = 0;
  while (Math.abs(x) >= 999.5 && power < 5) { x /= 1000; power += 1; }
  const text = Math.abs(x) < 9.95 && power > 0 ? x.toFixed(1) : x.toFixed(0);
  return `${text} ${prefixes[power]}${unit}`;
}

const bytes = (x) => scaled(x, 'B');
const rate = (x) => scaled(x, 'B/s');
const cpus = (x) => (x === null || Number.isNaN(x) ? '–' : x.toFixed(2));
const percent = (x) => `${(100 * x).toFixed(1)}%`;

function seconds(s) {
  if (s === null || s === undefined) return '–';
  if (s < 1) return `${Math.round(s * 1000)} ms`;
  if (s < 59.95) return `${s.toFixed(1)} s`;
  if (s < 3599.5) return `${Math.floor(Math.round(s) / 60)} m ${Math.round(s) % 60} s`;
  const minutes = Math.round(s / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} m`;
}

// Base64 of little-endian numbers.
function numbers(text, Kind) {
  const raw = atob(text);
  const buffer = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i += 1) buffer[i] = raw.charCodeAt(i);
  return new Kind(buffer.buffer);
}

// Round values between two ends, about `target` of them (Heckbert 1990). Times
// and memory are divided as people divide them.
function ticks(low, high, target) {
  const rough = (high - low) / Math.max(1, target);
  if (!(rough > 0) || !Number.isFinite(rough)) return [low];
  const magnitude = 10 ** Math.floor(Math.log10(rough));
  const share = rough / magnitude;
  const step = magnitude * (share < 1.5 ? 1 : share < 3 ? 2 : share < 7 ? 5 : 10);
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9 && found.length < 60; i += 1) {
    found.push(i * step);
  }
  return found;
}

// A label for each tick, in as many decimals as the step needs.
function tickLabels(values) {
  if (values.length < 2) return values.map((v) => significant(v, 3));
  const step = values[1] - values[0];
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const largest = Math.max(...values.map(Math.abs));
  if (largest >= 1e5 || decimals > 4) return values.map((v) => (v === 0 ? '0' : Number(v.toPrecision(3)).toExponential().replace('e+', 'e')));
  return values.map((v) => v.toFixed(decimals));
}

// Where in a sorted list the first value at or above `x` is.
function place(sorted, x) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < x) low = middle + 1; else high = middle;
  }
  return low;
}

const round = (x) => Math.round(x * 10) / 10;

// A path through points in pixels; a gap where there is none.
function path(points) {
  let text = '';
  let open = false;
  for (const point of points) {
    if (!point) { open = false; continue; }
    text += `${open ? 'L' : 'M'}${round(point[0])} ${round(point[1])}`;
    open = true;
  }
  return text;
}

// The marker of the n-th look, as the charts of the page have them.
function marker(n, x, y) {
  const d = [
    `M${x} ${y}h0`,
    `M${x} ${y}h0`,
    `M${x} ${y - 4}l4 7h-8z`,
    `M${x} ${y - 4.5}l4.5 4.5-4.5 4.5-4.5-4.5z`,
    `M${x - 3} ${y - 3}l6 6m0-6l-6 6`,
    `M${x - 3.5} ${y}a3.5 3.5 0 1 0 7 0 3.5 3.5 0 1 0-7 0`,
  ][n % 6];
  const kind = ['dot', 'sqr', 'fil', 'fil', 'out', 'out'][n % 6];
  return shape('path', { class: `${kind} s${n % 6}`, d });
}

const lineClass = (n) => `l s${n % 6}${n % 6 ? ` d${n % 6}` : ''}`;

function button(text, label, action) {
  const element = make('button', { type: 'button', 'aria-label': label }, text);
  element.addEventListener('click', action);
  return element;
}

// A labelled menu.
function menu(label, options, chosen, action) {
  const select = make('select', {});
  options.forEach(([value, text]) => select.append(make('option', { value, selected: value === chosen }, text)));
  select.addEventListener('change', () => action(select.value));
  return make('label', {}, `${label} `, select);
}

// A table with a caption, headings and rows of texts; columns of numbers stand
// to the right.
function table(caption, headings, rows) {
  const cell = (name, text, at, scope) => make(name, { scope, class: headings[at].number ? 'n' : null }, text);
  const head = make('tr', {}, ...headings.map((h, at) => cell('th', h.text, at, 'col')));
  const body = rows.map((row) => make('tr', {}, ...row.map((text, at) => cell(at ? 'td' : 'th', text, at, at ? null : 'row'))));
  return make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption },
    make('table', {}, make('caption', {}, caption), make('thead', {}, head), make('tbody', {}, ...body)));
}
