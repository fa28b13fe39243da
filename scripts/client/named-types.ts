import openapiTypescript, { astToString } from 'openapi-typescript';
import ts from 'typescript';

/** The parts of a JSON Schema that this module reads. */
export interface Schema {
  type?: string;
  $ref?: string;
  const?: unknown;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
}

/**
 * Returns the declaration of an exported interface or type for each schema, by name. openapi-typescript generates members of one `components`
 * interface. Separate declarations show their names in hovers and in the compiler's messages.
 */
export async function namedTypes(schemas: ReadonlyMap<string, Schema>): Promise<Map<string, string>> {
  const document = {
    openapi: '3.1.1',
    info: { title: 'types', version: '1' },
    paths: {},
    components: { schemas: withDescriptions(withLists(Object.fromEntries(schemas)) as Record<string, Schema>) },
  };
  const ast = await openapiTypescript(JSON.stringify(document), {
    arrayLength: true,
    transform: ({ format }) => (format === 'binary' ? ts.factory.createTypeReferenceNode('Blob') : undefined),
  });
  const text = astToString(ast);
  const declarations = membersOf(text).map(({ name, comment, type, isObject }) => {
    const declared = isObject ? `export interface ${name} ${type}` : `export type ${name} = ${type};`;
    const named = declared.replaceAll(/components\["schemas"\]\["(\w+)"\]/g, '$1');
    return [name, `${comment}${named}\n`] as const;
  });
  // Otherwise a generator that reads nothing would fail silently.
  if (declarations.length !== schemas.size)
    throw new Error(`${schemas.size} schemas made ${declarations.length} types`);
  return new Map(declarations);
}

/** Drops list lengths except fixed ones, which become tuples. A list of one to five items would become five tuples. */
function withLists(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withLists);
  if (value === null || typeof value !== 'object') return value;
  const { minItems, maxItems, ...rest } = value as { minItems?: unknown; maxItems?: unknown };
  const schema = Object.fromEntries(Object.entries(rest).map(([key, each]) => [key, withLists(each)]));
  return typeof minItems === 'number' && minItems === maxItems ? { ...schema, minItems, maxItems } : schema;
}

/** Copies a referenced schema's description to each property that only refers to it, so that a hover over the property shows it. */
function withDescriptions(schemas: Record<string, Schema>): Record<string, Schema> {
  const described = (property: Schema): Schema => {
    const description = property.$ref && schemas[property.$ref.slice(property.$ref.lastIndexOf('/') + 1)]?.description;
    return description && !property.description ? { ...property, description } : property;
  };
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit);
    if (value === null || typeof value !== 'object') return value;
    const copy = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, visit(each)])) as Schema;
    if (!copy.properties) return copy;
    const properties = Object.entries(copy.properties).map(([name, each]) => [name, described(each)] as const);
    return { ...copy, properties: Object.fromEntries(properties) };
  };
  return visit(schemas) as Record<string, Schema>;
}

function membersOf(text: string): { name: string; comment: string; type: string; isObject: boolean }[] {
  const source = ts.createSourceFile('api.ts', text, ts.ScriptTarget.Latest, true);
  const components = source.statements.find(
    (each): each is ts.InterfaceDeclaration => ts.isInterfaceDeclaration(each) && each.name.text === 'components',
  );
  const schemas = components?.members.find((each) => each.name?.getText() === 'schemas') as ts.PropertySignature;
  return (schemas.type as ts.TypeLiteralNode).members.map((member) => {
    const { name, type } = member as ts.PropertySignature;
    const comment = member
      .getFullText()
      .slice(0, member.getStart() - member.getFullStart())
      .trim();
    const declared = plainComments(indented(`${comment}\n${withUndefined(type!)}`.trim()));
    const start = declared.startsWith('/**') ? declared.indexOf('*/') + 3 : 0;
    return {
      name: name.getText(),
      comment: declared.slice(0, start),
      type: declared.slice(start),
      isObject: ts.isTypeLiteralNode(type!),
    };
  });
}

/** Returns declarations with shortened comments: the description first, without facts that the type already states. */
function plainComments(text: string): string {
  const lines: string[] = [];
  let comment: string[] | undefined;
  for (const line of text.split('\n')) {
    if (line.trimStart().startsWith('/**')) comment = [];
    if (!comment) lines.push(line);
    comment?.push(line);
    if (!comment || !line.endsWith('*/')) continue;
    lines.push(...plainComment(comment));
    comment = undefined;
  }
  return lines.join('\n');
}

function plainComment(comment: string[]): string[] {
  const margin = ' '.repeat(comment[0]!.indexOf('/'));
  const lines = comment.map((line) =>
    line
      .replace(/^ *(?:\/\*\*|\*(?!\/))?/, '')
      .replace('*/', '')
      .trim(),
  );
  const first = lines.findIndex((line) => line.startsWith('@description '));
  const next = lines.findIndex((line, index) => index > first && line.startsWith('@'));
  const description = first < 0 ? [] : lines.slice(first, next < 0 ? lines.length : next);
  const tags = lines.filter((line) => /^@example ./.test(line));
  const kept = [...description.map((line) => line.replace('@description ', '')), ...tags].filter(Boolean);
  if (kept.length < 2) return kept.map((line) => `${margin}/** ${line} */`);
  return [`${margin}/**`, ...kept.map((line) => `${margin} * ${line}`), `${margin} */`];
}

/** Returns a type's text in which each optional property may also be undefined, for `exactOptionalPropertyTypes`. */
function withUndefined(type: ts.TypeNode): string {
  const ends: number[] = [];
  const visit = (node: ts.Node) => {
    if (ts.isPropertySignature(node) && node.questionToken) ends.push(node.type!.end - type.getStart());
    ts.forEachChild(node, visit);
  };
  visit(type);
  const text = type.getText();
  const marked = ends
    .toSorted((one, other) => other - one)
    .reduce((all, end) => `${all.slice(0, end)} | undefined${all.slice(end)}`, text);
  return marked.replaceAll(/\[\s+(\w+),\s+(\w+)\s+\]/g, '[$1, $2]');
}

/** Re-indents a member of `schemas` as a declaration: two levels less, with two spaces per level. */
function indented(text: string): string {
  return text.replaceAll(/^ {8}/gm, '').replaceAll(/^(?: {4})+/gm, (spaces) => ' '.repeat(spaces.length / 2));
}
