import type { Source } from './source.ts';

/** An import of one file by another, as the innermost folder around both sees it: between two of its children. */
interface Edge {
  folder: string;
  from: string;
  to: string;
  /** File, line and imported file. */
  text: string;
}

/**
 * Returns a sentence for each circle of imports among the files and folders that lie in one folder; imports of types count as
 * imports of values do. An import counts between the children of the innermost folder around both files, so that no circle there
 * means none between files and none between folders. Tests are left out: nothing imports them.
 */
export function circleFaultsOf(sources: readonly Source[]): string[] {
  return circlesOf(edgesOf(sources)).map(sentenceOf);
}

function edgesOf(sources: readonly Source[]): Edge[] {
  const code = sources.filter(({ isTest }) => !isTest);
  return code.flatMap(({ file, imports }) =>
    imports.flatMap(({ target, line }) => {
      if (!target) return [];
      const [left, right] = [file.split('/'), target.split('/')];
      const differs = left.findIndex((part, index) => part !== right[index]);
      const depth = differs === -1 ? left.length - 1 : differs; // a file may import itself
      const folder = left.slice(0, depth).join('/');
      return [{ folder, from: left[depth]!, to: right[depth]!, text: `${file}:${line} imports ${target}` }];
    }),
  );
}

/** Circles, each as the imports that make it: the last one leads back to where the first one starts. */
function circlesOf(imports: Edge[]): Edge[][] {
  return [...Map.groupBy(imports, ({ folder }) => folder).values()].flatMap((edges) => {
    const leaving = Map.groupBy(edges, ({ from }) => from);
    const told = new Set<string>();
    return [...leaving.keys()].flatMap((child) => {
      if (told.has(child)) return [];
      const circle = pathBetween(child, child, leaving);
      for (const { from } of circle) told.add(from);
      return circle.length > 0 ? [circle] : [];
    });
  });
}

/** Returns the shortest path of at least one import between two children, empty where there is none. Breadth first. */
function pathBetween(start: string, end: string, leaving: Map<string, Edge[]>): Edge[] {
  const paths = (leaving.get(start) ?? []).map((edge) => [edge]);
  const seen = new Set<string>();
  for (const path of paths) {
    const { to } = path.at(-1)!;
    if (to === end) return path;
    if (seen.has(to)) continue;
    seen.add(to);
    for (const edge of leaving.get(to) ?? []) paths.push([...path, edge]);
  }
  return [];
}

function sentenceOf(circle: Edge[]): string {
  const [first] = circle;
  const children = [...circle, first!].map(({ from }) => from).join(' -> ');
  const imports = circle.map(({ text }) => text).join('; ');
  return `${imports.replace(' ', ': ')}, which closes the circle ${children} in ${first!.folder}; move what both need into a place of its own`;
}
