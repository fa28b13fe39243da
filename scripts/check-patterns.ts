import { globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { openApiDocument } from '@customer-platform/contracts/openapi';
import { check, type Diagnostics } from 'recheck';
import { type Pattern, patternsOf } from './patterns.ts';

/** Files with code. */
const files = '{packages,services,gateway,deploy,scripts,bench,tests,examples}/**/*.{ts,tsx,mts,cts,js,jsx,mjs,cjs}';

/**
 * Limits of recheck per pattern. recheck counts steps with a fixed seed, so that slow and fast machines get the same result. Its
 * timeout only stops a check that would never end, which is a fault.
 */
const effort = { randomSeed: 1, timeout: 120_000, incubationTimeout: null, attackTimeout: null };

/** Returns a line for each pattern that is not known to take linear time, with its place and the reason, in the given order. */
export async function faultsOf(patterns: Pattern[]): Promise<string[]> {
  const verdicts = new Map<string, Diagnostics>();
  const distinct = [...new Map(patterns.map((pattern) => [written(pattern), pattern])).values()];
  const worker = async () => {
    for (let pattern = distinct.pop(); pattern; pattern = distinct.pop())
      verdicts.set(written(pattern), await check(pattern.source, pattern.flags, effort));
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  return patterns.flatMap((pattern) => faultOf(pattern, verdicts.get(written(pattern))!) ?? []);
}

function faultOf(pattern: Pattern, verdict: Diagnostics): string | undefined {
  const where = `${pattern.file}:${pattern.line}: ${written(pattern)}`;
  if (verdict.status === 'safe') return undefined;
  if (verdict.status === 'unknown') return `${where} could not be checked: ${verdict.error.kind}`;
  return `${where} takes ${verdict.complexity.summary} time, such as on ${verdict.attack.pattern}`;
}

function written({ source, flags }: Pattern): string {
  return `/${source}/${flags}`;
}

/** Returns the patterns of a JSON document's schemas, including zod's own. `line` is the line in the indented document. */
export function patternsOfDocument(file: string, document: object): Pattern[] {
  return JSON.stringify(document, null, 1)
    .split('\n')
    .flatMap((text, index) => {
      const source = /^ *"pattern": (".*"),?$/.exec(text)?.[1];
      return source ? [{ file, line: index + 1, source: JSON.parse(source) as string, flags: 'u' }] : [];
    });
}

if (import.meta.main) {
  process.chdir(join(import.meta.dirname, '..'));
  const names = globSync(files, { exclude: ['**/node_modules/**', '**/dist/**'] }).sort();
  const read = names.map((name) => patternsOf(name, readFileSync(name, 'utf8')));
  const documented = patternsOfDocument('docs/reference/openapi.json', openApiDocument());
  const patterns = [...read.flatMap((each) => each.patterns), ...documented];
  console.log(`patterns: ${patterns.length} to check, which takes 30 s or more`);
  const faults = [...read.flatMap((each) => each.faults), ...(await faultsOf(patterns))];
  for (const fault of faults) console.error(fault);
  console.log(`patterns: ${patterns.length} in ${names.length} files read, ${faults.length} faults`);
  process.exit(faults.length === 0 ? 0 : 1);
}
