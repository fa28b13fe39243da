import { dirname } from 'node:path';
import type { Source } from './source.ts';

/** Parts that every process is made of: one engineer should be able to hold them in their head. */
const watched = /^(?:packages\/service-kit|gateway)\/src\//;
const maxFiles = 25;
const smallLines = 25;
/** Files that stand alone however short they are: statements, process entries and tables of contents. */
const standsAlone = /(?:\.sql|\/main|\/index)\.ts$/;

/** Returns a sentence for each folder of kit or gateway that has more than 25 files, tests included. */
export function folderFaultsOf(sources: readonly Source[]): string[] {
  const files = sources.map(({ file }) => file).filter((file) => watched.test(file));
  return [...Map.groupBy(files, dirname)]
    .filter(([, { length }]) => length > maxFiles)
    .map(([folder, { length }]) => `${folder}: has ${length} files; ${maxFiles} are the most`);
}

/** Returns a sentence for each file of kit or gateway with under 25 lines that only one file imports. */
export function smallFileFaultsOf(sources: readonly Source[]): string[] {
  const code = sources.filter(({ isTest }) => !isTest);
  const importers = new Map<string, Set<string>>();
  for (const { file, imports } of code)
    for (const { target } of imports) if (target) importers.set(target, (importers.get(target) ?? new Set()).add(file));
  return code.flatMap(({ file, lines }) => {
    const by = [...(importers.get(file) ?? [])];
    if (!watched.test(file) || standsAlone.test(file) || lines >= smallLines || by.length !== 1) return [];
    return [`${file}: has ${lines} lines and is imported by ${by[0]} alone; move its code there`];
  });
}
