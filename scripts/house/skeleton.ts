import { importsOf, type Source } from './source.ts';

/** The files of a service that stand beside its folders. */
const skeleton = ['config.ts', 'implement.ts', 'main.ts', 'start.ts'];

/** Returns a sentence for each way in which a file of a service leaves the skeleton that all services have. */
export function skeletonFaultsOf(source: Source): string[] {
  const { file, isTest } = source;
  const [, name] = /^services\/[^/]+\/src\/(.+)$/.exec(file) ?? [];
  if (name === undefined || isTest) return [];
  const isMisplaced = !name.includes('/') && !skeleton.includes(name);
  const back = importsOf(source).find(({ specifier }) => /^\.\.?\/(main|start)\.ts$/.test(specifier));
  return [
    ...(isMisplaced ? [`${file}: beside a service's folders stand only ${skeleton.join(', ')}`] : []),
    ...(back && name !== 'main.ts'
      ? [`${file}:${back.line}: must not import main.ts or start.ts, which imports everything else`]
      : []),
  ];
}
