import { type Document, type Operation, type Parameter, type Reference, resolve, type Schema } from './api-document.ts';

/**
 * Returns the reference as Markdown: every operation in the document's order, under a heading with its `operationId` as anchor. Search,
 * assistants and readers without JavaScript use it. In a browser the interactive reference replaces it.
 */
export function writeReference(document: Document): string {
  const introduction = document.info.description.replaceAll('{base_url}', 'https://api.example.com');
  const places = placesOf(document);
  const chapters = document.tags.map(({ name, description, 'x-displayName': title }) => {
    const own = places.filter(({ operation }) => operation.tags[0] === name);
    const sections = own.map(
      (each) =>
        `### ${each.operation.summary} { #${each.operation.operationId} }\n\n${sectionOf(document, each)}${responseOf(document, each)}`,
    );
    return `## ${title} { #tag/${name} }\n\n${description}\n\n${sections.join('\n')}`;
  });
  return `# API reference\n\n${introduction}\n\n${chapters.join('\n')}`;
}

/** An operation's part of the reference. */
export interface Section {
  operation: Operation;
  /** Markdown, without the heading and the response's fields. */
  text: string;
}

/** Returns each operation's part of the reference, in the document's order. */
export function sectionsOf(document: Document): Section[] {
  return placesOf(document).map((place) => ({ operation: place.operation, text: sectionOf(document, place) }));
}

interface Place {
  path: string;
  method: string;
  operation: Operation;
}

function placesOf({ paths }: Document): Place[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
}

function sectionOf(document: Document, { path, method, operation }: Place): string {
  const parameters = (operation.parameters ?? []).map((each) => resolve<Parameter>(document, each));
  const paragraphs = [
    `\`${method.toUpperCase()} ${path}\``,
    operation.description,
    `**Scope:** ${operation['x-scope'] ? `\`${operation['x-scope']}\`` : 'any key'} · **Client:** \`client.${operation['x-client-name']}\``,
    listOf(
      'Path',
      parameters.filter((each) => each.in === 'path').map((each) => parameterLine(document, each)),
    ),
    listOf(
      'Query',
      parameters.filter((each) => each.in === 'query').map((each) => parameterLine(document, each)),
    ),
    listOf('Body', fieldLines(document, contentOf(operation.requestBody), { isSent: true })),
    `**Errors:** ${errorsOf(document, operation).join(' · ')}`,
  ];
  return `${paragraphs.filter((each) => each).join('\n\n')}\n`;
}

/** Returns the fields of an operation's success response. */
function responseOf(document: Document, { operation }: Place): string {
  const [status, response] = Object.entries(operation.responses).find(([each]) => each < '300')!;
  const lines = fieldLines(document, contentOf(resolve(document, response)), { isSent: false });
  return `\n${listOf(`Response ${status}`, lines) ?? `**Response ${status}**`}\n`;
}

const listOf = (title: string, lines: string[]) =>
  lines.length > 0 ? `**${title}**\n\n${lines.join('\n')}` : undefined;

const parameterLine = (document: Document, { name, required, description, schema }: Parameter) =>
  `- \`${name}\` (${typeOf(document, schema)}${required ? ', required' : ''}): ${oneLine(description)}`;

/** Returns the schema of a body, whatever its type. */
const contentOf = (body?: { content?: Record<string, { schema?: Schema | Reference }> }) =>
  Object.values(body?.content ?? {})[0]?.schema;

/**
 * Returns a line for each field of a value, and an indented line for each field of its objects. Deeper fields are left out. Only
 * fields of requests are marked as required.
 */
function fieldLines(
  document: Document,
  value: Schema | Reference | undefined,
  { isSent }: { isSent: boolean },
  indent = '',
): string[] {
  const { properties = {}, required = [] } = objectIn(document, value) ?? {};
  return Object.entries(properties).flatMap(([name, field]) => {
    const need = isSent && required.includes(name) ? ', required' : '';
    const { description = '' } = resolve<Schema>(document, field);
    const line = `${indent}- \`${name}\` (${typeOf(document, field)}${need}): ${oneLine(description)}`;
    return indent === '' ? [line, ...fieldLines(document, field, { isSent }, '  ')] : [line];
  });
}

/** Returns the object schema of a value: itself, its only object variant, or its list items'. */
function objectIn(document: Document, value: Schema | Reference | undefined): Schema | undefined {
  if (!value) return undefined;
  const schema = resolve<Schema>(document, value);
  if (schema.properties) return schema;
  if (schema.items) return objectIn(document, schema.items);
  const objects = (schema.anyOf ?? []).map((each) => objectIn(document, each)).filter((each) => each !== undefined);
  return objects.length === 1 ? objects[0] : undefined;
}

/** Returns a short type name of a value, such as "string or null" or "array of integer". */
function typeOf(document: Document, value: Schema | Reference): string {
  const schema = resolve<Schema>(document, value);
  const { type, format, items, enum: values = schema.const === undefined ? undefined : [schema.const] } = schema;
  const variants = schema.anyOf ?? schema.oneOf;
  if (values) return values.map((each) => `\`${each === '' ? '""' : each}\``).join(', ');
  if (variants) return [...new Set(variants.map((each) => typeOf(document, each)))].join(' or ');
  if (type === 'array' && items) return `array of ${typeOf(document, items)}`;
  if (type === undefined) return 'any value';
  return format ?? [type].flat().join(' or ');
}

/** Returns each error status with its codes, which are the responses' descriptions. */
function errorsOf(document: Document, { responses }: Operation): string[] {
  return Object.entries(responses)
    .filter(([status]) => Number(status) >= 400)
    .map(([status, response]) => {
      const codes = resolve(document, response).description.replaceAll(/\b[a-z]+_[a-z_]+\b/g, '`$&`');
      return `${status} ${codes}`;
    });
}

/** Joins the lines of a text into one. */
const oneLine = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .join(' ');
