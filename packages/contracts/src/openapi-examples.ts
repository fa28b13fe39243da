import { salonId } from './accounts/examples.ts';
import type { Operation } from './core/operation.ts';
import { exampleOfEvent, examples, parameterExamples } from './examples.ts';
import type { ApiDocument } from './merged-documents.ts';

type Json = Record<string, unknown>;

interface Media {
  schema?: { $ref?: string };
  example?: unknown;
  examples?: Json;
}
interface Described {
  parameters?: Parameter[];
  requestBody?: { content: Record<string, Media> };
  responses?: Record<string, { content?: Record<string, Media> }>;
}
interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  example?: unknown;
}

/** An event as the stream sends it. */
const streamExample = () =>
  `id: 4211\nevent: order.created\ndata: ${JSON.stringify(envelopeExample('order.created'))}\n\n`;

/**
 * Adds the contracts' examples to a service's part of the document: to bodies, responses, events and required parameters. An example
 * that several responses share becomes a component.
 */
export function addExamples(document: ApiDocument, operations: readonly Operation[]): void {
  const responses: { media: Media; example: unknown; name: string }[] = [];
  for (const { key, method, path, status } of operations) {
    const described = document.paths![path]![method.toLowerCase()] as Described;
    const { body = {}, response } = examples[key] ?? {};
    for (const media of Object.values(described.requestBody?.content ?? {})) media.example = body;
    const media = described.responses![status]!.content?.['application/json'];
    if (media) responses.push({ media, example: response, name: nameOf(media, key) });
    const stream = described.responses![status]!.content?.['text/event-stream'];
    if (stream) stream.example = streamExample();
    for (const parameter of described.parameters ?? []) addToParameter(parameter);
  }
  for (const parameter of Object.values(document.components?.parameters ?? {})) addToParameter(parameter as Parameter);
  const byText = Map.groupBy(responses, ({ example }) => JSON.stringify(example));
  const shared: Json = {};
  for (const uses of byText.values()) {
    const { example, name } = uses[0]!;
    const free =
      uses.length > 1 ? [name, ...uses.map(({ name: other }) => other)].find((each) => !shared[each]) : undefined;
    if (free !== undefined) shared[free] = { value: example };
    for (const { media } of uses) {
      if (free === undefined) media.example = example;
      else media.examples = { default: { $ref: `#/components/examples/${free}` } };
    }
  }
  document.components = { ...document.components, examples: shared };
  for (const [kind, { post }] of Object.entries(document.webhooks ?? {}) as [string, { post: Described }][])
    post.requestBody!.content['application/json']!.example = envelopeExample(kind);
}

/** Returns an example's component name: the name of its schema, or of its operation if the schema has none. */
function nameOf({ schema }: Media, key: string): string {
  return schema?.$ref?.slice('#/components/schemas/'.length) ?? `${key[0]!.toUpperCase()}${key.slice(1)}`;
}

/** Adds an example to a required parameter of the path or query. */
function addToParameter(parameter: Parameter): void {
  if (parameter.required !== true || parameter.in === 'header') return;
  parameter.example = parameterExamples[parameter.name];
}

/** Returns an example of a public event in its envelope; undefined for a kind without an example. */
export function envelopeExample(kind: string): Json | undefined {
  const data = exampleOfEvent(kind);
  if (data === undefined) return undefined;
  return {
    id: '019a9cd0-94e6-7a2e-8d3a-3b4c5d6e7f90',
    type: kind,
    timestamp: '2025-11-20T12:00:09+01:00',
    account: salonId,
    mode: 'live',
    data,
  };
}
