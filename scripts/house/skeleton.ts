/** The files of a service that stand beside its folders. */
const skeleton = ['config.ts', 'implement.ts', 'main.ts', 'start.ts'];

/** Returns what a file, no test, does against the skeleton that all services have, in sentences. `specifiers` are its imports. */
export function skeletonFaultsOf(file: string, specifiers: readonly string[]): string[] {
  const [, name] = /^services\/[^/]+\/src\/(.+)$/.exec(file) ?? [];
  if (name === undefined) return [];
  const isMisplaced = !name.includes('/') && !skeleton.includes(name);
  const importsBack = name !== 'main.ts' && specifiers.some((one) => /^\.\.?\/(main|start)\.ts$/.test(one));
  return [
    ...(isMisplaced ? [`${file}: beside a service's folders stand only ${skeleton.join(', ')}`] : []),
    ...(importsBack ? [`${file}: must not import main.ts or start.ts, which imports everything else`] : []),
  ];
}
