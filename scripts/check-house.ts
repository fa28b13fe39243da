import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { circleExceptionsOf, circleFaultsOf } from './house/circles.ts';
import { clockFaultsOf } from './house/clocks.ts';
import { longFunctionsOf, wideFunctionsOf } from './house/functions.ts';
import { spreadListsOf } from './house/lists.ts';
import { type Exception, lowered, type Numbers, ratchetFaultsOf } from './house/ratchet.ts';
import { roomFaultsOf, rooms } from './house/rooms.ts';
import { skeletonFaultsOf } from './house/skeleton.ts';
import { sleepFaultsOf } from './house/sleeps.ts';
import { importsOf, lengthFaultsOf, sourceOf } from './house/source.ts';
import { wordExceptionsOf, wordsOf, wordsOfDocument } from './house/words.ts';

process.chdir(join(import.meta.dirname, '..'));

const allowedFile = 'scripts/house/allowed.json';
type Rule = 'imports' | 'lines' | 'parameters' | 'lists' | 'words';
/** Number of violations allowed today, by rule. They only ever fall: `npm run house -- --lower` writes the current numbers. */
const allowed = JSON.parse(readFileSync(allowedFile, 'utf8')) as Record<Rule, Numbers>;

/** Files of others, of builds, and of `npm run reference`, which checks them itself. */
const exclude = ['**/node_modules/**', '**/dist/**', 'packages/client/src/generated/types.ts'];
const read = rooms.map((room) => {
  const files = globSync(`${room.folder}/**/*.{ts,tsx}`, { exclude }).sort();
  return { room, sources: files.map((file) => sourceOf(file, readFileSync(file, 'utf8'))) };
});
const sources = read.flatMap((each) => each.sources);
const documents = globSync([
  '*.md',
  'docs/*.md',
  'docs/adr/*.md',
  '{gateway,packages/*,services/*,examples,examples/*}/README.md',
])
  .filter((file) => file !== 'CHANGELOG.md')
  .sort();
// A check that found no files proves nothing.
const unread = read
  .filter((each) => each.sources.every((source) => importsOf(source).length === 0))
  .map(({ room }) => `${room.folder}: no files or no imports were read`);
if (documents.length === 0) unread.push('docs: no documents were read');

const hits = [
  ...sources.flatMap(wordsOf),
  ...documents.flatMap((file) => wordsOfDocument(file, readFileSync(file, 'utf8'))),
];
const exceptions: Record<Rule, Exception[]> = {
  imports: circleExceptionsOf(sources, allowed.imports),
  lines: sources.flatMap(longFunctionsOf),
  parameters: sources.flatMap(wideFunctionsOf),
  lists: sources.flatMap(spreadListsOf),
  words: wordExceptionsOf(hits),
};
const rules = Object.keys(exceptions) as Rule[];
if (process.argv.includes('--lower')) lower();
if (process.argv.includes('--words')) listWords();

const faults = [
  ...unread,
  ...sources.flatMap(roomFaultsOf),
  ...sources.flatMap(lengthFaultsOf),
  ...sources.flatMap(skeletonFaultsOf),
  ...circleFaultsOf(sources, allowed.imports),
  ...clockFaultsOf(sources),
  ...sleepFaultsOf(sources),
  ...rules.flatMap((rule) => ratchetFaultsOf(rule, exceptions[rule], allowed[rule])),
];
for (const fault of faults) console.error(fault);
const left = rules.map((rule) => `${rule} ${exceptions[rule].length}`);
console.log(
  `house: ${sources.length} files in ${rooms.length} rooms and ${documents.length} documents read, ${faults.length} faults`,
);
console.log(`house: places left to mend: ${left.join(', ')}, with ${hits.length} words`);
process.exit(faults.length === 0 ? 0 : 1);

/** Lowers the allowed numbers to the current ones, under the files' current names. Throws if git fails. */
function lower(): void {
  const git = (...given: string[]) => execFileSync('git', given, { encoding: 'utf8' }).trim();
  const since = git('log', '-1', '--format=%H', '--', allowedFile);
  const renamed = since ? git('diff', '--find-renames', '--diff-filter=R', '--name-status', since) : '';
  const renames = new Map(renamed.split('\n').map((line) => line.split('\t').slice(1) as [string, string]));
  for (const rule of rules) allowed[rule] = lowered(exceptions[rule], allowed[rule], renames);
  writeFileSync(allowedFile, `${JSON.stringify(allowed, null, 2)}\n`);
}

/** Prints each word that we do not use, its number of occurrences, and their places. */
function listWords(): void {
  for (const [word, each] of Map.groupBy(hits, (hit) => hit.word.word)) {
    console.log(`${word}: ${each.length}; instead ${each[0]!.word.instead}`);
    for (const { file, line } of each) console.log(`  ${file}:${line}`);
  }
}
