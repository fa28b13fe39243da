type Json = Record<string, unknown>;

/** An OpenAPI document, or a service's part of it. */
export interface ApiDocument extends Json {
  paths?: Record<string, Json>;
  webhooks?: Record<string, Json>;
  components?: Record<string, Json>;
}

/**
 * Merges services' parts into one document: all paths, webhooks and components, and the first part's other fields. If two parts have
 * different components of one name, as during a rolling update, the later one is renamed: `Deal` becomes `DealOfCrm`.
 */
export function mergedDocuments(parts: readonly { service: string; document: ApiDocument }[]): ApiDocument {
  const [first] = parts;
  const merged = { ...first?.document, paths: {}, webhooks: {}, components: {} } as Required<ApiDocument>;
  for (const { service, document } of parts) {
    const { paths, webhooks, components } = withOwnNames(document, merged.components, service);
    for (const [path, operations] of Object.entries(paths ?? {}))
      merged.paths[path] = { ...merged.paths[path], ...operations };
    Object.assign(merged.webhooks, webhooks);
    for (const [section, named] of Object.entries(components ?? {}))
      merged.components[section] = { ...merged.components[section], ...named };
  }
  for (const [section, named] of Object.entries(merged.components)) merged.components[section] = sortedByName(named);
  return merged;
}

/** Returns a part with new names for components that differ from the component of that name in `taken`. */
function withOwnNames(part: ApiDocument, taken: Record<string, Json>, service: string): ApiDocument {
  const renamed = new Map<string, string>();
  const suffix = `Of${service[0]!.toUpperCase()}${service.slice(1)}`;
  // A component that refers to a renamed one differs too: repeat until no name is added.
  for (let known = -1; known < renamed.size; ) {
    known = renamed.size;
    for (const [section, named] of Object.entries(part.components ?? {})) {
      for (const [name, component] of Object.entries(named)) {
        const other = taken[section]?.[name];
        if (other === undefined || textOf(other) === textOf(rewriteReferences(component, renamed))) continue;
        renamed.set(`#/components/${section}/${name}`, `#/components/${section}/${name}${suffix}`);
      }
    }
  }
  if (renamed.size === 0) return part;
  const rewritten = rewriteReferences(part, renamed) as ApiDocument;
  const components = Object.entries(rewritten.components ?? {}).map(([section, named]) => [
    section,
    Object.fromEntries(
      Object.entries(named).map(([name, component]) => [
        renamed.has(`#/components/${section}/${name}`) ? `${name}${suffix}` : name,
        component,
      ]),
    ),
  ]);
  return { ...rewritten, components: Object.fromEntries(components) };
}

const textOf = (component: unknown) => JSON.stringify(sortedDeep(component));

function rewriteReferences(value: unknown, renamed: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return renamed.get(value) ?? value;
  if (Array.isArray(value)) return value.map((each) => rewriteReferences(each, renamed));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, rewriteReferences(each, renamed)]));
}

function sortedByName(named: Json): Json {
  return Object.fromEntries(Object.entries(named).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function sortedDeep(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedDeep);
  if (value === null || typeof value !== 'object') return value;
  return sortedByName(Object.fromEntries(Object.entries(value).map(([key, each]) => [key, sortedDeep(each)])));
}
