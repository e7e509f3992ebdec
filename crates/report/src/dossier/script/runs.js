// The list of runs: filter, sort, select.

// So many at first; the others on request, on paper, and for a search.
const ROWS = 100;
const STANDINGS = ['done', 'failed', 'unfinished', 'to do'];

// The levels of a run in words.
function describe(run) {
  return D.factors.map((factor, i) => `${factor.n}=${level(run, i)}`).join(', ');
}

function level(run, i) {
  const at = run.l[i];
  return typeof at === 'number' ? D.factors[i].v[at] : String(at);
}

class RunList {
  constructor(host) {
    this.host = host;
    this.shown = ROWS;
    this.sort = { column: -1, up: true };
    this.filter = '';
    this.selected = -1;
    const has = (at) => D.runs.some((run) => run.r[at] !== null);
    const timed = D.responses.some((name, i) => has(i) && /time|duration/i.test(name));
    this.columns = [
      { text: 'run', value: (run) => run.n, order: (run, i) => i },
      ...D.factors.map((factor, i) => ({ text: factor.n, value: (run) => level(run, i), order: (run) => run.l[i] })),
      ...D.responses.map((name, i) => ({ text: name, number: true, value: (run) => significant(run.r[i]), order: (run) => run.r[i] })),
      ...(timed ? [] : [{ text: 'duration', number: true, value: (run) => seconds(run.d), order: (run) => run.d }]),
      { text: 'held by', value: (run) => (run.h ? `${run.h[0]} ${percent(run.h[1])}` : '–'), order: (run) => (run.h ? run.h[0] : null) },
      ...(D.runs.some((run) => run.q) ? [{ text: 'disturbed by', value: (run) => run.q || '–', order: (run) => run.q || null }] : []),
      { text: 'outcome', value: (run) => run.o, order: (run) => run.k },
    ];
    this.build();
  }

  build() {
    const input = make('input', { type: 'search', placeholder: 'batch_size=64 failed', size: 24 });
    input.addEventListener('input', () => { this.filter = input.value.trim().toLowerCase(); this.shown = ROWS; this.draw(); });
    const failing = D.runs.filter((run) => run.k === 1).length;
    const tools = make('div', { class: 'tools' }, make('label', {}, 'Find runs ', input));
    if (failing) {
      tools.append(button(`${failing} failed`, 'show the runs that failed', () => { input.value = 'failed'; input.dispatchEvent(new Event('input')); }));
    }
    this.status = make('span', { class: 'hint', role: 'status' });
    tools.append(this.status);
    this.head = make('thead', {});
    this.body = make('tbody', {});
    this.more = button('show more', 'show more runs', () => { this.shown += 100; this.draw(); });
    this.host.append(tools, make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'All runs' },
      make('table', { class: 'runs' }, make('caption', {}, 'All runs. The name of a run selects it for the charts below.'), this.head, this.body)), this.more);
    window.addEventListener('beforeprint', () => { this.before = this.shown; this.shown = Infinity; this.draw(); });
    window.addEventListener('afterprint', () => { this.shown = this.before; this.draw(); });
    this.draw();
  }

  found() {
    const words = this.filter.split(/\s+/).filter(Boolean);
    const text = (run) => `${run.n} ${STANDINGS[run.k]} ${run.o} ${describe(run)} ${run.q || ''}`.toLowerCase();
    const found = D.runs.map((run, i) => i).filter((i) => { const all = text(D.runs[i]); return words.every((word) => all.includes(word)); });
    const column = this.columns[this.sort.column];
    if (column) {
      const sign = this.sort.up ? 1 : -1;
      found.sort((a, b) => {
        const [x, y] = [column.order(D.runs[a], a), column.order(D.runs[b], b)];
        // What is missing comes last, whichever way.
        if (x === null || y === null) return (x === null) - (y === null);
        return sign * (x < y ? -1 : x > y ? 1 : 0) || a - b;
      });
    }
    return found;
  }

  draw() {
    const found = this.found();
    this.head.replaceChildren(make('tr', {}, ...this.columns.map((column, i) => {
      const chosen = this.sort.column === i;
      const arrow = chosen ? (this.sort.up ? ' ↑' : ' ↓') : '';
      const press = button(column.text + arrow, `sort by ${column.text}`, () => {
        this.sort = { column: i, up: chosen ? !this.sort.up : true };
        this.draw();
      });
      return make('th', { scope: 'col', class: column.number ? 'n' : null, 'aria-sort': chosen ? (this.sort.up ? 'ascending' : 'descending') : null }, press);
    })));
    this.body.replaceChildren(...found.slice(0, this.shown).map((i) => this.row(i)));
    this.more.hidden = found.length <= this.shown;
    this.status.textContent = found.length === D.runs.length ? `${found.length} runs` : `${found.length} of ${D.runs.length} runs`;
  }

  row(i) {
    const run = D.runs[i];
    const chosen = i === this.selected;
    const row = make('tr', { class: `${chosen ? 'chosen ' : ''}k${run.k}` });
    this.columns.forEach((column, at) => {
      if (at === 0) {
        const press = button(run.n, `select ${run.n}`, () => select(i));
        press.setAttribute('aria-pressed', String(chosen));
        row.append(make('th', { scope: 'row' }, press));
      } else {
        row.append(make('td', { class: column.number ? 'n' : null }, column.value(run)));
      }
    });
    return row;
  }

  select(index) { this.selected = index; this.draw(); }
}
