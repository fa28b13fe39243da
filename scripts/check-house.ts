import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { circleFaultsOf } from './house/circles.ts';
import { folderFaultsOf, smallFileFaultsOf } from './house/folders.ts';
import { roomFaultsOf, rooms } from './house/rooms.ts';
import { sleepFaultsOf } from './house/sleeps.ts';
import { importsOf, sourceOf } from './house/source.ts';

process.chdir(join(import.meta.dirname, '..'));

/** Files of other projects, of builds, and of `npm run reference`, which checks them itself. */
const exclude = ['**/node_modules/**', '**/dist/**', 'packages/client/src/generated/types.ts'];
const read = rooms.map((room) => {
  const files = globSync(`${room.folder}/**/*.{ts,tsx}`, { exclude }).sort();
  return { room, sources: files.map((file) => sourceOf(file, readFileSync(file, 'utf8'))) };
});
const sources = read.flatMap((each) => each.sources);
// A check that found no files proves nothing.
const unread = read
  .filter((each) => each.sources.every((source) => importsOf(source).length === 0))
  .map(({ room }) => `${room.folder}: no files or no imports were read`);

const faults = [
  ...unread,
  ...sources.flatMap(roomFaultsOf),
  ...circleFaultsOf(sources),
  ...folderFaultsOf(sources),
  ...smallFileFaultsOf(sources),
  ...sleepFaultsOf(sources),
];
for (const fault of faults) console.error(fault);

const linesOf = (some: typeof sources) => some.reduce((lines, { text }) => lines + text.split('\n').length - 1, 0);
const columns = (cells: readonly unknown[]) => console.log(cells.map((cell) => String(cell).padStart(22)).join(''));
columns(['part', 'lines of source', 'lines of tests']);
for (const each of read) {
  const { true: tests = [], false: code = [] } = Object.groupBy(each.sources, ({ isTest }) => `${isTest}`);
  columns([each.room.folder, linesOf(code), linesOf(tests)]);
}
console.log(`house: ${sources.length} files in ${rooms.length} parts read, ${faults.length} faults`);
process.exit(faults.length === 0 ? 0 : 1);
