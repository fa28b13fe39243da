import type { Node } from '../syntax.ts';
import type { Source } from './source.ts';

/** Code of the domain: where time comes from the call's clock. */
const domain = /^(services\/[^/]+|gateway)\/src\//;
/** Files that make the clock: `main.ts` and `start.ts` of a service and of the gateway. */
const starts = /^(services\/[^/]+|gateway)\/src\/(main|start)\.ts$/;

/** Files that may read the system's clock, each with the reason. */
export const allowedClocks: Record<string, string> = {
  'gateway/src/public/public-handler.ts':
    'the time of a signed context is what the service holds against its own system clock',
  'services/messaging/src/providers/http.ts': 'the provider holds the time of a signature against its own system clock',
};

/** Returns a sentence for each place of domain code that reads the system's clock, and for each allowed file that does not. */
export function clockFaultsOf(sources: Source[], allowed = allowedClocks): string[] {
  const readings = sources.flatMap((source) =>
    source.isTest || !domain.test(source.file) || starts.test(source.file)
      ? []
      : source.syntax.nodes.filter(readsClock).map((node) => ({ file: source.file, line: node.loc.start.line })),
  );
  const stale = Object.keys(allowed).filter((file) => !readings.some((each) => each.file === file));
  return [
    ...readings
      .filter(({ file }) => allowed[file] === undefined)
      .map(({ file, line }) => `${file}:${line}: reads the system's clock; take the time from the call's \`now\``),
    ...stale.map((file) => `scripts/house/clocks.ts: ${file} is allowed and does not read the clock; remove it`),
  ];
}

function readsClock({ type, callee, arguments: given }: Node): boolean {
  if (type !== 'NewExpression' && type !== 'CallExpression') return false;
  const { name, object, property } = callee as { name?: string; object?: Node; property?: Node };
  if (name === 'Date') return type === 'CallExpression' || (given as Node[]).length === 0;
  return object?.name === 'Date' && property?.name === 'now';
}
