import { cut, pad, printable, widthOf } from './text.ts';

/** A column of a table. */
export interface Column<Row> {
  title: string;
  /** The cell's text; `-` for nothing. */
  of: (row: Row) => string;
  isNumber?: true;
  /** Longest texts are cut down to this width where room is scarce; without it cells are whole. */
  min?: number;
  /** In a narrow terminal the cells go whole below their rows, with the title: longer than the terminal is wide if need be. */
  isBelow?: true;
  /** The column with the highest rank goes first where room is scarce even so; one without stays. */
  rank?: number;
}

/** A table's lines, the heading first, and the titles of columns that did not fit. */
export interface Drawn {
  lines: string[];
  left: string[];
}

interface Measured<Row> extends Column<Row> {
  cells: string[];
  width: number;
}

const gap = 2;
/** Lines below a row are further in. */
const indent = '  ';

/** Lays rows out as a table of at most `width` columns of a terminal, but for what is below rows. A column that is empty in every row is left out. */
export function table<Row>(rows: Row[], columns: Column<Row>[], width: number): Drawn {
  const measured = columns.map((column): Measured<Row> => {
    const cells = rows.map((row) => printable(column.of(row)));
    return { ...column, cells, width: Math.max(widthOf(column.title), ...cells.map(widthOf)) };
  });
  const filled = measured.filter(({ cells }) => cells.some((cell) => cell !== '-'));
  const { kept, below, left } = fitting(filled, width);
  const widths = widthsOf(kept, width);
  const lineOf = (texts: string[]) =>
    texts
      .map((text, index) => pad(cut(text, widths[index]!), widths[index]!, kept[index]!.isNumber ? 'left' : 'right'))
      .join(' '.repeat(gap))
      .trimEnd();
  const heading = lineOf(kept.map(({ title }) => title));
  const drawn = rows.flatMap((_row, index) => [
    lineOf(kept.map(({ cells }) => cells[index]!)),
    ...linesBelow(below, index, width),
  ]);
  return { lines: [heading, ...drawn], left };
}

function linesBelow<Row>(columns: Measured<Row>[], row: number, width: number): string[] {
  const lines: string[] = [];
  for (const { title, cells } of columns) {
    const cell = cells[row]!;
    if (cell === '-') continue;
    const longer = lines.length === 0 ? undefined : `${lines.at(-1)}${' '.repeat(gap)}${title} ${cell}`;
    if (longer !== undefined && widthOf(longer) <= width) lines.splice(-1, 1, longer);
    else lines.push(`${indent}${title} ${cell}`);
  }
  return lines;
}

function fitting<Row>(columns: Measured<Row>[], width: number) {
  const kept = [...columns];
  const below: Measured<Row>[] = [];
  const left: string[] = [];
  const isTooWide = () => total(kept.map(leastOf)) > width;
  while (isTooWide()) {
    const last = kept.findLastIndex(({ isBelow }) => isBelow);
    if (last < 0) break;
    below.unshift(...kept.splice(last, 1));
  }
  while (isTooWide()) {
    const last = kept.reduce((worst, { rank = 0 }, index) => (rank >= (kept[worst]?.rank ?? 0) ? index : worst), -1);
    if (!kept[last]?.rank) break;
    left.push(...kept.splice(last, 1).map(({ title }) => title));
  }
  return { kept, below, left: columns.map(({ title }) => title).filter((title) => left.includes(title)) };
}

/** Each column gets its least width; those that are cut share what is left, the narrowest first. */
function widthsOf<Row>(columns: Measured<Row>[], width: number): number[] {
  const widths = columns.map(leastOf);
  let spare = Math.max(0, width - total(widths));
  const short = columns
    .map((column, index) => ({ index, wanted: column.width - widths[index]! }))
    .filter(({ wanted }) => wanted > 0)
    .sort((one, other) => one.wanted - other.wanted);
  for (const [position, { index, wanted }] of short.entries()) {
    const given = Math.min(wanted, Math.floor(spare / (short.length - position)));
    widths[index]! += given;
    spare -= given;
  }
  return widths;
}

function leastOf<Row>({ width, min = width, title }: Measured<Row>): number {
  return Math.min(width, Math.max(min, widthOf(title)));
}

function total(widths: number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + gap * Math.max(0, widths.length - 1);
}
