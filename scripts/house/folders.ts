import { dirname } from 'node:path';
import type { Source } from './source.ts';

/** Parts that every process uses, and that one engineer should be able to keep in mind. */
const watched = /^(?:packages\/service-kit|gateway)\/src\//;
const maxFiles = 25;
const smallLines = 25;
/** Files that may be short: SQL statements, process entries and index files. */
const standsAlone = /(?:\.sql|\/main|\/index)\.ts$/;

/** Returns a sentence for each folder of kit or gateway with more than 25 files, including tests. */
export function folderFaultsOf(sources: readonly Source[]): string[] {
  const files = sources.map(({ file }) => file).filter((file) => watched.test(file));
  return [...Map.groupBy(files, dirname)]
    .filter(([, { length }]) => length > maxFiles)
    .map(([folder, { length }]) => `${folder}: has ${length} files; the maximum is ${maxFiles}`);
}

/** Returns a sentence for each file of kit or gateway with fewer than 25 lines that only one file imports. */
export function smallFileFaultsOf(sources: readonly Source[]): string[] {
  const code = sources.filter(({ isTest }) => !isTest);
  const importers = new Map<string, Set<string>>();
  for (const { file, imports } of code)
    for (const { target } of imports) if (target) importers.set(target, (importers.get(target) ?? new Set()).add(file));
  return code.flatMap(({ file, lines }) => {
    const by = [...(importers.get(file) ?? [])];
    if (!watched.test(file) || standsAlone.test(file) || lines >= smallLines || by.length !== 1) return [];
    return [`${file}: has ${lines} lines and only ${by[0]} imports it; move its code there`];
  });
}
