/** Row of the table of figures: text, measured values and targets as they are written. */
interface Row {
  what: string;
  measured: string;
  target: string;
  /** Part of what the target allows that is used, of the value that is nearest to its target or worst beyond it: above 1 it is missed. */
  used: number;
}

const rowHeight = 22;
const [labelWidth, scaleWidth, valueWidth] = [560, 300, 330];
/** Part of the allowed at the scale's left end, and its right one; logarithmic between. */
const [least, most] = [0.01, 10];
const gridLines = [0.01, 0.1, 1, 10];
const maxLabel = 92;

/**
 * Returns a picture (SVG) of the table "At a glance" of docs/performance.md: a bar for each row with a target, to the left of the line where the
 * target holds. Throws where the page has no such table, or a row's numbers cannot be read.
 */
export function figuresPicture(page: string): string {
  const rows = rowsOf(page);
  const height = (rows.length + 2) * rowHeight;
  const width = labelWidth + scaleWidth + valueWidth;
  const grid = gridLines.map((used) => {
    const x = placeOf(used);
    const kind = used === 1 ? 'target' : 'grid';
    return `<line class="${kind}" x1="${x}" y1="${rowHeight}" x2="${x}" y2="${height - rowHeight}"/><text class="tick" x="${x}" y="${height - 6}">${used === 1 ? 'target' : `${used} ×`}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="Measured figures against their targets">
<style>
svg { background: #fff } text { font: 12px system-ui, sans-serif; fill: #1b1f23 } .value { fill: #5a636c } .tick { text-anchor: middle; fill: #5a636c }
.grid { stroke: #dcdfe3 } .target { stroke: #1b1f23; stroke-width: 1.5 } .holds { fill: #2f8f55 } .missed { fill: #b3261e }
@media (prefers-color-scheme: dark) { svg { background: #14171a } text { fill: #e2e5e8 } .value, .tick { fill: #9aa4ad } .grid { stroke: #30363c } .target { stroke: #e2e5e8 } .holds { fill: #6fce95 } .missed { fill: #ff8a80 } }
</style>
<text x="8" y="15">Part of what the target allows that is used; less is better</text>
${grid.join('\n')}
${rows.map(drawn).join('\n')}
</svg>
`;
}

function rowsOf(page: string): Row[] {
  const [, section] = /\n## At a glance\n([\s\S]*?)\n## /.exec(page) ?? [];
  const cells = (section ?? '').split('\n').map((line) => line.slice(2, -2).split(' | '));
  // The head has no text, and the line below it begins with a colon.
  const isRow = (each: string[]): each is [string, string, string] => each.length === 3 && /^[^ :]/.test(each[0]!);
  const rows = cells.filter(isRow);
  if (rows.length === 0) throw new Error('docs/performance.md needs a table under "At a glance"');
  return rows.map(([what, measured, target]) => ({ what, measured, target, used: usedOf(measured, target) }));
}

/** Returns the worst of the parts, which are aligned at their ends: a target may be that of the last part alone. A target of 0 allows nothing. */
function usedOf(measured: string, target: string): number {
  const isLeast = target.includes('≥');
  const limits = target.split(' / ').map(numberOf);
  const values = measured.split(' / ').map(numberOf).slice(-limits.length);
  const used = values.map((value, index) => {
    const limit = limits[index]!;
    if (limit === 0) return value === 0 ? least : most;
    return isLeast ? limit / value : value / limit;
  });
  return Math.max(...used);
}

/** Returns the last number of a cell. */
function numberOf(text: string): number {
  const found = text
    .replaceAll(/(?<=\d),(?=\d{3})/g, '')
    .match(/\d+(?:\.\d+)?/g)
    ?.at(-1);
  if (found === undefined) throw new Error(`docs/performance.md: "${text}" has no number`);
  return Number(found);
}

function placeOf(used: number): number {
  const bounded = Math.min(most, Math.max(least, used));
  return Math.round(labelWidth + (scaleWidth * Math.log(bounded / least)) / Math.log(most / least));
}

function drawn({ what, measured, target, used }: Row, index: number): string {
  const y = (index + 1) * rowHeight;
  const [from, to] = [placeOf(least), placeOf(used)];
  const label = what.split(' *')[0]!.split(' (')[0]!;
  return [
    `<text x="8" y="${y + 15}">${escaped(label.length > maxLabel ? `${label.slice(0, maxLabel)}…` : label)}</text>`,
    `<rect class="${used <= 1 ? 'holds' : 'missed'}" x="${from}" y="${y + 5}" width="${Math.max(2, to - from)}" height="12"/>`,
    `<text class="value" x="${labelWidth + scaleWidth + 16}" y="${y + 15}">${escaped(`${measured} (${target})`)}</text>`,
  ].join('');
}

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
