import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { circleFaultsOf } from './house/circles.ts';
import { folderFaultsOf, smallFileFaultsOf } from './house/folders.ts';
import { roomFaultsOf, rooms } from './house/rooms.ts';
import { sleepFaultsOf } from './house/sleeps.ts';
import { type Source, sourceOf } from './house/source.ts';

process.chdir(join(import.meta.dirname, '..'));

/** Third-party files, builds, and generated files, which `npm run reference` checks. */
const exclude = ['**/node_modules/**', '**/dist/**', 'packages/client/src/generated/types.ts'];
const read = Object.keys(rooms).map((room) => {
  const files = globSync(`${room}/**/*.{ts,tsx}`, { exclude }).sort();
  return { room, sources: files.map((file) => sourceOf(file, readFileSync(file, 'utf8'))) };
});
const sources = read.flatMap((each) => each.sources);

const faults = [
  // Finding no files means the check is broken.
  ...read.filter((each) => each.sources.length === 0).map(({ room }) => `${room}: no files were read`),
  ...read.flatMap((each) => each.sources.flatMap((source) => roomFaultsOf(each.room, source))),
  ...circleFaultsOf(sources),
  ...folderFaultsOf(sources),
  ...smallFileFaultsOf(sources),
  ...sources.flatMap(sleepFaultsOf),
];
for (const fault of faults) console.error(fault);

const linesOf = (some: Source[]) => some.reduce((sum, { lines }) => sum + lines, 0);
const columns = (...cells: unknown[]) => console.log(cells.map((cell) => String(cell).padStart(22)).join(''));
columns('part', 'lines of source', 'lines of tests');
for (const each of read) {
  const [tests, code] = [true, false].map((isTest) => each.sources.filter((source) => source.isTest === isTest));
  columns(each.room, linesOf(code!), linesOf(tests!));
}
console.log(`house: ${sources.length} files in ${read.length} parts read, ${faults.length} faults`);
process.exit(faults.length === 0 ? 0 : 1);
