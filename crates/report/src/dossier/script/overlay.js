// The resources of all runs over each other, told apart by a factor.

const OVERLAY_SHOWN = 200;
const OVERLAYS = [
  { line: 0, name: 'CPUs of the run', write: cpus, over: true },
  { line: 2, name: 'Memory of the run', write: bytes },
  { line: 4, name: 'Disk, read', write: rate, over: true },
  { line: 5, name: 'Disk, written', write: rate, over: true },
  { line: 6, name: 'Network, received', write: rate, over: true },
  { line: 7, name: 'Network, sent', write: rate, over: true },
  { line: 8, name: 'Loopback', write: rate, over: true },
  { line: 9, name: 'GPUs of the run, busy', write: percent, over: true },
];

class Overlay {
  constructor(host) {
    this.host = host;
    this.along = 'time';
    this.decoded = new Map();
    this.selected = 0;
    this.drawn = D.runs.map((_, i) => i).filter((i) => (D.runs[i].t || []).length);
    this.all = this.drawn.length;
    const every = Math.ceil(this.all / OVERLAY_SHOWN);
    this.drawn = this.drawn.filter((_, i) => i % every === 0);
    this.telling = D.factors.map((factor, i) => [String(i), factor.n]).filter(([i]) => D.factors[i].v.length > 1 && D.factors[i].v.length <= 6);
    this.by = this.telling.length ? this.telling[0][0] : '';
    this.build();
  }

  build() {
    const again = (set) => (value) => { set(value); this.draw(); };
    const tools = make('div', { class: 'tools' });
    if (this.telling.length > 1) tools.append(menu('Tell apart by', [...this.telling, ['', 'nothing']], this.by, again((v) => { this.by = v; })));
    tools.append(menu('Along', [['time', 'seconds'], ['share', 'share of the run']], this.along, again((v) => { this.along = v; })));
    this.legend = make('p', { class: 'legend' });
    this.plot = make('div', { class: 'plot' });
    this.host.replaceChildren(tools, this.legend, this.plot);
    this.draw();
  }

  select(index) { this.selected = index; this.draw(); }

  // The first node's lines of a run.
  node(index) {
    if (!this.decoded.has(index)) this.decoded.set(index, decodeNode(D.runs[index].t[0]));
    return this.decoded.get(index);
  }

  end(index) {
    const { at } = this.node(index);
    return Math.max(D.runs[index].d || 0, at.length ? at[at.length - 1] : 0, 1e-3);
  }

  look(index) {
    if (this.by === '') return null;
    const at = D.runs[index].l[Number(this.by)];
    return typeof at === 'number' ? at : null;
  }

  draw() {
    this.width = Math.max(280, this.plot.clientWidth || 720);
    const has = (panel) => this.drawn.some((run) => { const line = this.node(run).lines[panel.line]; return line && line.max > 0; });
    const panels = OVERLAYS.filter(has);
    this.longest = this.along === 'share' ? 1 : Math.max(...this.drawn.map((run) => this.end(run)), 1e-3);
    this.x = (t, run) => MARGIN.left + ((this.along === 'share' ? t / this.end(run) : t) / this.longest) * (this.width - MARGIN.left - MARGIN.right);
    this.plot.replaceChildren(...panels.flatMap((panel) => this.panel(panel)), this.axis());
    this.legend.replaceChildren();
    if (this.by !== '') {
      const factor = D.factors[Number(this.by)];
      this.legend.append(`${factor.n}: `);
      factor.v.forEach((level, i) => this.legend.append(key(i), `${level} `));
    }
    if (this.drawn.length < this.all) this.legend.append(`${this.drawn.length} of ${this.all} runs are drawn, evenly spaced.`);
  }

  panel(panel) {
    const height = 120;
    const top = Math.max(...this.drawn.map((run) => { const line = this.node(run).lines[panel.line]; return line ? line.max : 0; }));
    const y = (v) => height - 6 - (v / (top * 1.05)) * (height - 12);
    const svg = shape('svg', { class: 'pl', width: this.width, height, viewBox: `0 0 ${this.width} ${height}`, role: 'img' });
    svg.append(shape('title', {}, this.described(panel)));
    const ys = ticks(0, top * 1.05, 3);
    svg.append(shape('path', { class: 'g', d: ys.map((v) => `M${MARGIN.left} ${round(y(v))}H${this.width - MARGIN.right}`).join('') }));
    ys.forEach((v) => svg.append(shape('text', { class: 'm', x: MARGIN.left - 7, y: round(y(v) + 4), 'text-anchor': 'end' }, panel.write(v))));
    const faint = this.drawn.length > 24 ? ' faint' : '';
    this.drawn.forEach((run) => {
      const look = this.look(run);
      const curve = shape('path', { class: (look === null ? 'h q' : `${lineClass(look)} thin`) + faint, d: this.line(panel, run, y) });
      curve.append(shape('title', {}, D.study ? `${D.runs[run].n}: ${describe(D.runs[run])}` : D.runs[run].n));
      svg.append(curve);
    });
    return [make('p', { class: 'panelhead' }, make('strong', {}, panel.name)), svg];
  }

  line(panel, run, y) {
    const { at, lines } = this.node(run);
    const line = lines[panel.line];
    if (!line) return '';
    const points = [];
    let before = 0;
    at.forEach((t, i) => {
      const value = Number.isNaN(line.high[i]) ? null : (line.low[i] + line.high[i]) / 2;
      if (panel.over) points.push(value === null ? null : [this.x(before, run), y(value)]);
      points.push(value === null ? null : [this.x(t, run), y(value)]);
      before = t;
    });
    return path(points);
  }

  // What there is to see, for those who cannot: the peaks by level.
  described(panel) {
    const peaks = new Map();
    this.drawn.forEach((run) => {
      const line = this.node(run).lines[panel.line];
      const name = this.by === '' ? 'all runs' : `${D.factors[Number(this.by)].n} ${level(D.runs[run], Number(this.by))}`;
      if (line) peaks.set(name, Math.max(peaks.get(name) || 0, line.max));
    });
    return `${panel.name} over time. Highest values: ${[...peaks].map(([name, peak]) => `${name} ${panel.write(peak)}`).join(', ')}.`;
  }

  axis() {
    const svg = shape('svg', { class: 'pl', width: this.width, height: 34, viewBox: `0 0 ${this.width} 34`, 'aria-hidden': 'true' });
    const xs = ticks(0, this.longest, this.width / 90);
    const labels = tickLabels(xs);
    const x = (v) => MARGIN.left + (v / this.longest) * (this.width - MARGIN.left - MARGIN.right);
    svg.append(shape('path', { class: 'x', d: `M${MARGIN.left} 2H${this.width - MARGIN.right}${xs.map((v) => `M${round(x(v))} 2v4`).join('')}` }));
    xs.forEach((v, i) => svg.append(shape('text', { class: 'm', x: round(x(v)), y: 18, 'text-anchor': 'middle' }, labels[i])));
    svg.append(shape('text', { class: 'm', x: (MARGIN.left + this.width) / 2, y: 32, 'text-anchor': 'middle' }, this.along === 'share' ? 'share of the run' : 'seconds since the start'));
    return svg;
  }
}
