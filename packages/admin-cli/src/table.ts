import { isTimestamp, minute, printable, widthOf } from './text.ts';

/** The terminal's width in columns, and the control plane's time, since the local clock may be wrong. */
export interface Screen {
  columns: number;
  now: Date;
}

/** Columns by title, the most important first: the name of a field, or a function that returns the cell of a row. */
export type Columns<Row> = Record<string, (keyof Row & string) | ((row: Row, now: Date) => string | null | undefined)>;

interface Measured {
  title: string;
  cells: string[];
  width: number;
  isNumber: boolean;
}

const gap = '  ';
/** Numbers and durations are right-aligned. */
const numeric = /^(?:-|[\d,]+(?:\.\d+)?[smhd]?)$/;

/**
 * Returns rows as a table, the heading first. A column that does not fit into the terminal goes below each row, uncut and with its title.
 * A column that is empty in every row is omitted.
 */
export function table<Row extends object>(rows: readonly Row[], columns: Columns<Row>, screen: Screen): string[] {
  if (rows.length === 0) return ['none'];
  const texts = rows.map((row) => cellsOf(row, columns, screen.now));
  const measured = Object.keys(columns).map((title): Measured => {
    const cells = texts.map((cells) => cells[title]!);
    const width = [title, ...cells].reduce((most, text) => Math.max(most, widthOf(text)), 0);
    return { title, cells, width, isNumber: cells.every((cell) => numeric.test(cell)) };
  });
  const filled = measured.filter(({ cells }) => cells.some((cell) => cell !== '-'));
  let room = screen.columns;
  const { kept = [], below = [] } = Object.groupBy(filled, ({ width }) => {
    if (width > room) return 'below';
    room -= width + gap.length;
    return 'kept';
  });
  const lines = rows.flatMap((_row, index) => [
    lineOf(kept, ({ cells }) => cells[index]!),
    ...linesBelow(below, index, screen.columns),
  ]);
  return [lineOf(kept, ({ title }) => title), ...lines];
}

/** Returns the cells of a row by column. An empty cell is `-`. */
export function cellsOf<Row extends object>(row: Row, columns: Columns<Row>, now: Date): Record<string, string> {
  const cells = Object.entries(columns).map(([title, of]) => {
    const value = typeof of === 'string' ? row[of] : of(row, now);
    return [title, printable(textOf(value))];
  });
  return Object.fromEntries(cells) as Record<string, string>;
}

/** Returns one line per field. */
export function record(thing: object): string[] {
  const width = Math.max(...Object.keys(thing).map((name) => name.length));
  return Object.entries(thing).map(([name, value]) => `${name.padEnd(width)}  ${printable(textOf(value))}`);
}

function textOf(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-';
  if (isTimestamp(value)) return minute(value);
  if (Array.isArray(value)) return value.map(textOf).join(',') || '-';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function lineOf(columns: Measured[], textIn: (column: Measured) => string): string {
  const texts = columns.map((column) => {
    const text = textIn(column);
    const spaces = ' '.repeat(column.width - widthOf(text));
    return column.isNumber ? spaces + text : text + spaces;
  });
  return texts.join(gap).trimEnd();
}

function linesBelow(columns: Measured[], row: number, width: number): string[] {
  const lines: string[] = [];
  for (const { title, cells } of columns) {
    const cell = cells[row]!;
    if (cell === '-') continue;
    const longer = `${lines.at(-1)}${gap}${title} ${cell}`;
    if (lines.length > 0 && widthOf(longer) <= width) lines.splice(-1, 1, longer);
    else lines.push(`${gap}${title} ${cell}`);
  }
  return lines;
}
