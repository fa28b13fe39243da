import type { Source } from './source.ts';

/** Import between two children of the innermost folder that contains both files. */
interface Edge {
  folder: string;
  from: string;
  to: string;
  /** File, line and imported file. */
  text: string;
}

/**
 * Returns a sentence for each import cycle between the files and folders of one folder. Type imports count like
 * value imports. An import counts between the children of the innermost folder around both files. So no cycle there
 * means no cycle between files or between folders. Tests are left out, because nothing imports them.
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

/** Returns cycles, each as its imports. The last import leads back to the start of the first. */
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

/** Returns the shortest path of at least one import between two children; empty if none exists. Breadth first. */
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
  return `${imports.replace(' ', ': ')}, which closes the import cycle ${children} in ${first!.folder}; move the shared code into its own module`;
}
