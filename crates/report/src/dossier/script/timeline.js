// The time lines of one run: panels that share one axis, one cursor, one zoom.

// `over`: the value is the mean over the time since the sample before, and is
// drawn as a step; otherwise it is the state at the sample.
const PANELS = [
  { name: 'CPU', write: (x) => `${cpus(x)}`, unit: 'CPUs', over: true, lines: [[0, 'run'], [1, 'machine']] },
  { name: 'Memory', write: bytes, unit: '', lines: [[2, 'run'], [3, 'machine']] },
  { name: 'Disk', write: rate, unit: '', over: true, lines: [[4, 'read'], [5, 'written']] },
  { name: 'Network', write: rate, unit: '', over: true, lines: [[6, 'received'], [7, 'sent'], [8, 'loopback']] },
  { name: 'GPU', write: percent, unit: '', ifAny: true, lines: [[9, 'run'], [10, 'machine']] },
];
const MARGIN = { left: 66, right: 10, top: 6, bottom: 6 };
const PANEL_HEIGHT = 92;

function decodeNode(node) {
  const at = Float64Array.from(numbers(node.t, Uint32Array), (ms) => ms / 1000);
  const lines = node.s.map((series) => {
    if (!series) return null;
    if (series.m === 0) return { max: 0, low: new Float64Array(at.length), high: new Float64Array(at.length) };
    const of = (text) => Float64Array.from(numbers(text, Uint16Array), (q) => (q === 65535 ? NaN : (q / 65534) * series.m));
    const high = of(series.h);
    return { max: series.m, low: series.l ? of(series.l) : high, high };
  });
  return { name: node.n, cpus: node.c, at, lines };
}

class Timeline {
  constructor(host) {
    this.host = host;
    this.node = 0;
    this.status = make('p', { role: 'status', class: 'status' });
  }

  show(index) {
    this.index = index;
    this.run = D.runs[index];
    this.node = 0;
    this.nodes = (this.run.t || []).map(decodeNode);
    const ends = this.nodes.map((node) => (node.at.length ? node.at[node.at.length - 1] : 0));
    this.end = Math.max(this.run.d || 0, ...ends, 1e-3);
    this.from = 0;
    this.to = this.end;
    this.cursor = null;
    this.build();
  }

  build() {
    this.host.replaceChildren();
    const run = this.run;
    const title = D.study ? `${run.n}: ${describe(run)}` : run.n;
    this.host.append(make('h3', {}, title));
    this.host.append(make('p', { class: 'lead' }, this.sentence()));
    if (!this.nodes.length || !this.nodes.some((node) => node.at.length)) {
      this.host.append(make('p', {}, 'No samples of this run are in the report.'));
      return;
    }
    this.host.append(this.tools());
    this.plot = make('div', {
      class: 'plot', tabindex: 0, role: 'group',
      'aria-label': `Time lines of ${run.n}. Left and right move the cursor, plus and minus zoom, 0 shows the whole run.`,
    });
    this.host.append(this.plot, this.status);
    this.listen();
    this.draw();
    this.host.append(...this.tables());
  }

  sentence() {
    const parts = [this.run.o];
    if (this.run.d !== null) parts[0] += `, ${seconds(this.run.d)}`;
    if (this.run.h) parts.push(`held by ${this.run.h[0]} ${percent(this.run.h[1])} of the time`);
    if (this.run.q) parts.push(this.run.q);
    return `${parts.join('; ')}.`;
  }

  tools() {
    const zoom = (factor) => this.zoom(factor);
    const bar = make('div', { class: 'tools' });
    if (D.study && D.runs.length > 1) {
      bar.append(button('‹ previous', 'previous run', () => select(this.index - 1)),
        button('next ›', 'next run', () => select(this.index + 1)));
    }
    if (this.nodes.length > 1) {
      bar.append(menu('Node', this.nodes.map((node, i) => [String(i), node.name]), String(this.node), (value) => {
        this.node = Number(value);
        this.draw();
      }));
    }
    bar.append(button('+', 'zoom in', () => zoom(0.5)), button('−', 'zoom out', () => zoom(2)),
      button('whole run', 'show the whole run', () => this.whole()),
      make('span', { class: 'hint' }, 'drag to zoom'));
    return bar;
  }

  whole() { this.range(0, this.end); }

  range(from, to) {
    const least = this.end / 5000;
    if (to - from < least) return;
    this.from = Math.max(0, from);
    this.to = Math.min(this.end, to);
    this.draw();
  }

  zoom(factor) {
    const centre = this.cursor === null ? (this.from + this.to) / 2 : this.cursor;
    const width = (this.to - this.from) * factor;
    const left = Math.max(0, centre - (centre - this.from) * factor);
    this.range(left, left + width);
  }

  pan(share) {
    const width = this.to - this.from;
    const left = Math.min(Math.max(0, this.from + share * width), this.end - width);
    this.range(left, left + width);
  }

  // Draws everything anew for the current width and zoom.
  draw() {
    const width = Math.max(280, this.plot.clientWidth || 720);
    const node = this.nodes[this.node];
    this.width = width;
    this.x = (t) => MARGIN.left + ((t - this.from) / (this.to - this.from)) * (width - MARGIN.left - MARGIN.right);
    this.plot.replaceChildren(this.phases());
    const has = (panel) => !panel.ifAny || panel.lines.some(([line]) => node.lines[line]);
    this.panels = PANELS.filter(has).map((panel) => this.panel(panel, node));
    this.panels.forEach((panel) => this.plot.append(panel.head, panel.svg));
    this.plot.append(this.axis());
    this.mark(this.cursor, false);
  }

  phases() {
    const height = 24;
    const svg = shape('svg', { class: 'pl', width: this.width, height, viewBox: `0 0 ${this.width} ${height}`, role: 'img' });
    const phases = this.run.p || [];
    const text = phases.map((p) => `${p[0]} ${seconds(p[1])} to ${seconds(p[2])}`).join(', ');
    svg.append(shape('title', {}, phases.length ? `Phases: ${text}` : 'No phases were named'));
    phases.forEach((p, i) => {
      const left = Math.max(this.x(p[1]), MARGIN.left);
      const right = Math.min(this.x(p[2]), this.width - MARGIN.right);
      if (right <= left) return;
      svg.append(shape('rect', { class: `phase p${i % 2}`, x: round(left), y: 2, width: round(right - left), height: 18, rx: 3 }));
      const room = Math.floor((right - left - 8) / 6.6);
      if (room >= 2) {
        const name = p[0].length > room ? `${p[0].slice(0, room - 1)}…` : p[0];
        svg.append(shape('text', { x: round(left + 5), y: 15 }, name));
      }
    });
    svg.append(shape('text', { class: 'm', x: MARGIN.left - 7, y: 15, 'text-anchor': 'end' }, 'phase'));
    return svg;
  }

  panel(panel, node) {
    const shown = panel.lines.filter(([line]) => node.lines[line]);
    const head = make('div', { class: 'panelhead' });
    const name = make('b', {}, panel.name);
    const readout = make('span', { class: 'readout' });
    head.append(name, ' ', readout);
    const height = PANEL_HEIGHT;
    const svg = shape('svg', { class: 'pl chart', width: this.width, height, viewBox: `0 0 ${this.width} ${height}`, role: 'img' });
    const peak = Math.max(...shown.map(([line]) => node.lines[line].max), 0);
    svg.append(shape('title', {}, shown.length ? `${panel.name}, at most ${panel.write(peak)}` : `${panel.name} was not recorded`));
    const top = panel.name === 'CPU' ? Math.max(peak, node.cpus) : peak;
    const high = top > 0 ? top * 1.06 : 1;
    const y = (value) => height - MARGIN.bottom - (value / high) * (height - MARGIN.top - MARGIN.bottom);
    const marks = top > 0 ? ticks(0, high, 3) : [0];
    const grid = marks.map((value) => `M${MARGIN.left} ${round(y(value))}H${this.width - MARGIN.right}`).join('');
    svg.append(shape('path', { class: 'g', d: grid }));
    marks.forEach((value) => svg.append(shape('text', { class: 'm', x: MARGIN.left - 7, y: round(y(value) + 4), 'text-anchor': 'end' },
      panel.name === 'CPU' ? String(Number(value.toFixed(2))) : value === 0 ? '0' : panel.write(value))));
    (this.run.e || []).forEach(([at]) => {
      if (at >= this.from && at <= this.to) svg.append(shape('path', { class: 'event', d: `M${round(this.x(at))} ${MARGIN.top}V${height - MARGIN.bottom}` }));
    });
    shown.forEach(([line], i) => this.line(svg, node, node.lines[line], y, i, panel.over));
    const cursor = shape('path', { class: 'cursor', d: '' });
    const brush = shape('rect', { class: 'brush', y: 0, height, width: 0, x: 0 });
    svg.append(cursor, brush);
    this.legend(readout, shown);
    return { ...panel, head, svg, readout, cursor, brush, shown, y };
  }

  legend(readout, shown) {
    readout.replaceChildren();
    if (!shown.length) readout.append('not recorded');
    shown.forEach(([, name], i) => readout.append(key(i), name, ' '));
  }

  // One line. Where several points share a pixel, from the least to the
  // greatest: no peak is lost, however far out the zoom.
  line(svg, node, line, y, look, over) {
    const first = Math.max(0, place(node.at, this.from) - 1);
    const last = Math.min(node.at.length - 1, place(node.at, this.to));
    const points = [];
    let pixel = null;
    const flush = () => {
      if (pixel) points.push([pixel.x, y(pixel.first)], [pixel.x, y(pixel.low)], [pixel.x, y(pixel.high)], [pixel.x, y(pixel.last)]);
      pixel = null;
    };
    const reach = (time, low, high) => {
      const x = Math.round(this.x(time) * 2) / 2;
      if (pixel && pixel.x === x) {
        pixel.low = Math.min(pixel.low, low);
        pixel.high = Math.max(pixel.high, high);
        pixel.last = high;
      } else {
        flush();
        pixel = { x, low, high, first: high, last: high };
      }
    };
    for (let i = first; i <= last; i += 1) {
      if (Number.isNaN(line.high[i])) { flush(); points.push(null); continue; }
      if (over) reach(i ? node.at[i - 1] : 0, line.low[i], line.high[i]);
      reach(node.at[i], line.low[i], line.high[i]);
    }
    flush();
    const clip = points.map((p) => p && [Math.min(Math.max(p[0], MARGIN.left), this.width - MARGIN.right), p[1]]);
    const alone = clip.filter(Boolean).length <= 4;
    if (look === 0 && !alone) {
      let from = null;
      let area = '';
      clip.concat([null]).forEach((p, i, all) => {
        if (p && from === null) { from = p[0]; area += `M${round(p[0])} ${round(y(0))}`; }
        if (p) area += `L${round(p[0])} ${round(p[1])}`;
        if (!p && from !== null) { area += `L${round(all[i - 1][0])} ${round(y(0))}Z`; from = null; }
      });
      svg.append(shape('path', { class: 'area s0', d: area }));
    }
    svg.append(shape('path', { class: lineClass(look), d: path(clip) }));
    if (alone) clip.filter(Boolean).slice(0, 1).forEach(([x, py]) => svg.append(marker(look, round(x), round(py))));
  }

  axis() {
    const height = 34;
    const svg = shape('svg', { class: 'pl', width: this.width, height, viewBox: `0 0 ${this.width} ${height}`, 'aria-hidden': 'true' });
    const room = this.width - MARGIN.left - MARGIN.right;
    const marks = ticks(this.from, this.to, room / 90);
    const labels = tickLabels(marks);
    svg.append(shape('path', { class: 'x', d: `M${MARGIN.left} 1H${this.width - MARGIN.right}${marks.map((t) => `M${round(this.x(t))} 1v4`).join('')}` }));
    marks.forEach((t, i) => svg.append(shape('text', { class: 'm', x: round(this.x(t)), y: 17, 'text-anchor': 'middle' }, labels[i])));
    svg.append(shape('text', { x: MARGIN.left + room / 2, y: 31, 'text-anchor': 'middle' }, 'seconds since the start'));
    return svg;
  }

  // Moves the cursor to a time and writes what was measured there.
  mark(time, aloud) {
    this.cursor = time;
    if (time === null) {
      this.panels.forEach((panel) => { panel.cursor.setAttribute('d', ''); this.legend(panel.readout, panel.shown); });
      return;
    }
    const node = this.nodes[this.node];
    const at = Math.min(place(node.at, time), node.at.length - 1);
    const told = [];
    this.panels.forEach((panel) => {
      panel.cursor.setAttribute('d', `M${round(this.x(time))} 0V${PANEL_HEIGHT}`);
      if (!panel.shown.length) return;
      panel.readout.replaceChildren();
      panel.shown.forEach(([line, name], i) => {
        const text = `${name} ${range(panel, node.lines[line], at)}`;
        told.push(`${panel.name} ${text}`);
        panel.readout.append(key(i), make('span', { class: 'value' }, text), ' ');
      });
      if (panel.unit) panel.readout.append(`of ${node.cpus} ${panel.unit} `);
    });
    const phase = (this.run.p || []).find((p) => time >= p[1] && time <= p[2]);
    const near = (this.run.e || []).filter(([t]) => Math.abs(this.x(t) - this.x(time)) < 5).map(([, text]) => text);
    const where = `at ${seconds(node.at[at])}${phase ? `, ${phase[0]}` : ''}${near.length ? `: ${near.join('; ')}` : ''}`;
    this.panels[0].readout.append(make('span', { class: 'when' }, where));
    if (aloud) this.status.textContent = `${where}: ${told.join(', ')}`;
  }

  time(event) {
    const box = this.plot.getBoundingClientRect();
    const share = (event.clientX - box.left - MARGIN.left) / (this.width - MARGIN.left - MARGIN.right);
    return this.from + Math.min(1, Math.max(0, share)) * (this.to - this.from);
  }

  listen() {
    const plot = this.plot;
    let start = null;
    plot.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      start = this.time(event);
      plot.setPointerCapture(event.pointerId);
    });
    plot.addEventListener('pointermove', (event) => {
      const now = this.time(event);
      this.mark(now, false);
      if (start === null) return;
      const [left, right] = [Math.min(start, now), Math.max(start, now)].map(this.x);
      this.panels.forEach(({ brush }) => { brush.setAttribute('x', left); brush.setAttribute('width', right - left); });
    });
    const end = (event) => {
      if (start === null) return;
      const now = this.time(event);
      const [left, right] = [Math.min(start, now), Math.max(start, now)];
      start = null;
      if (event.type === 'pointerup' && this.x(right) - this.x(left) > 8) this.range(left, right); else this.draw();
    };
    plot.addEventListener('pointerup', end);
    plot.addEventListener('pointercancel', end);
    plot.addEventListener('pointerleave', () => { if (start === null) this.mark(null, false); });
    plot.addEventListener('dblclick', () => this.whole());
    plot.addEventListener('wheel', (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.cursor = this.time(event);
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8);
    }, { passive: false });
    plot.addEventListener('keydown', (event) => this.key(event));
  }

  key(event) {
    const node = this.nodes[this.node];
    const move = (by) => {
      const now = this.cursor === null ? place(node.at, this.from) - by : place(node.at, this.cursor);
      const at = Math.min(Math.max(0, now + by), node.at.length - 1);
      const time = node.at[at];
      if (time < this.from) this.pan((time - this.from) / (this.to - this.from) - 0.1);
      if (time > this.to) this.pan((time - this.to) / (this.to - this.from) + 0.1);
      this.mark(time, true);
    };
    const many = Math.max(1, Math.round(node.at.length / 20));
    const actions = {
      ArrowLeft: () => (event.shiftKey ? this.pan(-0.2) : move(-1)),
      ArrowRight: () => (event.shiftKey ? this.pan(0.2) : move(1)),
      PageUp: () => move(-many),
      PageDown: () => move(many),
      Home: () => this.mark(node.at[0], true),
      End: () => this.mark(node.at[node.at.length - 1], true),
      '+': () => this.zoom(0.5),
      '=': () => this.zoom(0.5),
      '-': () => this.zoom(2),
      0: () => this.whole(),
      Escape: () => this.whole(),
    };
    if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    actions[event.key]();
  }

  // What the charts show, as tables: for readers, screen readers and paper.
  tables() {
    const write = [cpus, bytes, rate, rate, rate, rate, rate, percent, bytes];
    const names = ['CPUs of the run', 'memory of the run', 'disk, read', 'disk, written', 'network, received', 'network, sent', 'loopback', 'GPUs, busy', 'GPUs, memory'];
    const made = [];
    (this.run.u || []).forEach((usage, n) => {
      const rows = usage.map((u, i) => u && [names[i], write[i](u[0]), write[i](u[1])]).filter(Boolean);
      if (rows.length) made.push(table(`Mean and peak on ${this.nodes[n] ? this.nodes[n].name : 'the node'}`, [{ text: 'resource' }, { text: 'mean', number: true }, { text: 'peak', number: true }], rows));
    });
    if (this.run.w) {
      const rows = this.run.w.map(([name, iterations, computing, waiting, moving]) => {
        const total = computing + waiting + moving;
        return [name, iterations === null ? '–' : String(iterations), seconds(computing), seconds(waiting), seconds(moving),
          waiting === null || !(total > 0) ? '–' : percent(waiting / total)];
      });
      made.push(table('Who computed and who waited', [{ text: 'worker' },
        ...['iterations', 'computed', 'waited', 'sent and received', 'share waited'].map((text) => ({ text, number: true }))], rows));
    }
    if (this.run.x) {
      const several = new Set(this.run.x.map((row) => row[1])).size > 1;
      const rows = this.run.x.map(([name, node, rank, time, mean, peak, memory, most]) => [several ? `${name} on ${node}` : name,
        rank === null ? '–' : String(rank), seconds(time), cpus(mean), cpus(peak), bytes(memory), bytes(most)]);
      made.push(table('What each process used', [{ text: 'process' },
        ...['rank', 'CPU time', 'CPUs, mean', 'CPUs, peak', 'memory, mean', 'memory, peak'].map((text) => ({ text, number: true }))], rows));
    }
    if ((this.run.e || []).length) {
      const rows = this.run.e.map(([at, text]) => [seconds(at), text]);
      made.push(table('What happened, thin lines in the charts', [{ text: 'at', number: true }, { text: 'what' }], rows));
    }
    return [make('div', { class: 'sidebyside' }, ...made)];
  }
}

function range(panel, line, at) {
  const [low, high] = [line.low[at], line.high[at]];
  if (Number.isNaN(high)) return 'not read';
  return panel.write(low) === panel.write(high) ? panel.write(high) : `${panel.write(low)} to ${panel.write(high)}`;
}

// A short piece of the line, so that it is known without its colour.
function key(look) {
  return shape('svg', { class: 'pl key', width: 22, height: 10, viewBox: '0 0 22 10', 'aria-hidden': 'true' },
    shape('path', { class: lineClass(look), d: 'M1 5H21' }));
}
