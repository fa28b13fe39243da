import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Tool } from '../tool.ts';

/** Kubernetes version whose API the chart is validated against. */
export const kubernetesVersion = '1.34.4';

type Schema = Record<string, unknown>;
interface Definition extends Schema {
  'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[];
}

/**
 * Writes a JSON schema for each resource of Kubernetes' own API to a folder, from the OpenAPI document in Kubernetes' Go
 * module. Keeps existing files. kubeconform expects the names, such as deployment-apps-v1.json.
 * @returns the folder as kubeconform's -schema-location
 * @throws Error when Go cannot fetch the module
 */
export function writeKubernetesSchemas(folder: string, go: Tool): string {
  const target = join(folder, `v${kubernetesVersion}`);
  const complete = join(target, 'complete');
  if (!existsSync(complete)) {
    mkdirSync(target, { recursive: true });
    const { definitions } = JSON.parse(readFileSync(openApiFile(go, target), 'utf8')) as {
      definitions: Record<string, Definition>;
    };
    for (const [file, schema] of schemasOf(definitions)) writeFileSync(join(target, file), JSON.stringify(schema));
    writeFileSync(complete, '');
  }
  return join(target, '{{.ResourceKind}}{{.KindSuffix}}.json');
}

function openApiFile(go: Tool, cwd: string): string {
  const module = `k8s.io/kubernetes@v${kubernetesVersion}`;
  // Not as a dependency of a module in a parent folder.
  const { stdout, stderr } = go(['mod', 'download', '-json', module], { cwd, env: { GOFLAGS: '-mod=mod' } });
  const { Dir, Error: cause } = JSON.parse(stdout || '{}') as { Dir?: string; Error?: string };
  if (Dir === undefined) throw new Error(`cannot fetch ${module}: ${cause ?? stderr.trim()}`);
  return join(Dir, 'api/openapi-spec/swagger.json');
}

/** Returns the schema of each resource by file name. It rejects unknown fields, as a strict API server does. */
export function schemasOf(definitions: Record<string, Definition>): Map<string, Schema> {
  const strict = Object.fromEntries(Object.entries(definitions).map(([name, schema]) => [name, strictSchema(schema)]));
  const files = new Map<string, Schema>();
  for (const [name, definition] of Object.entries(definitions)) {
    for (const { group, version, kind } of definition['x-kubernetes-group-version-kind'] ?? []) {
      const suffix = [group.split('.')[0], version].filter((part) => part !== '').join('-');
      const used = Object.fromEntries([...usedBy(name, strict)].map((each) => [each, strict[each]]));
      files.set(`${kind}-${suffix}.json`.toLowerCase(), { $ref: `#/definitions/${name}`, definitions: used });
    }
  }
  return files;
}

/** Keywords that map arbitrary names to schemas: a property may have the name `format`. */
const schemasByName = new Set(['properties', 'patternProperties']);

function strictSchema(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(strictSchema);
  if (typeof value !== 'object' || value === null) return value;
  const { format, description: _, ...rest } = value as Schema;
  // A value that is a number or a string, such as a port.
  if (format === 'int-or-string') return { type: ['integer', 'string'] };
  const entries = Object.entries(rest).map(([key, each]) => {
    if (!schemasByName.has(key)) return [key, strictSchema(each)];
    return [key, Object.fromEntries(Object.entries(each as Schema).map(([name, own]) => [name, strictSchema(own)]))];
  });
  const schema = Object.fromEntries(entries) as Schema;
  return schema.properties !== undefined && schema.additionalProperties === undefined
    ? { ...schema, additionalProperties: false }
    : schema;
}

/** Returns the names of a definition and of all definitions it refers to. */
function usedBy(name: string, definitions: Record<string, unknown>): Set<string> {
  const used = new Set([name]);
  for (const each of used) {
    for (const [, next] of JSON.stringify(definitions[each]).matchAll(/"\$ref":"#\/definitions\/([^"]+)"/g)) {
      used.add(next!);
    }
  }
  return used;
}
