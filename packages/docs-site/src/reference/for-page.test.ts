import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';

interface Operation {
  operationId: string;
  description: string;
  tags: string[];
  'x-scope'?: string;
  responses: Record<string, { $ref?: string }>;
  parameters?: { name?: string; schema?: object }[];
}
interface ApiDocument {
  info: { description: string };
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, object>;
  components: { responses: Record<string, { content: Record<string, { examples: Record<string, unknown> }> }> };
}

const own = <Module>(name: string) => import(new URL(name, import.meta.url).href) as Promise<Module>;
const { forPage } = await own<{ forPage(document: object, address: string): ApiDocument }>('./for-page.js');
const { anchorsOf } = await own<{ anchorsOf(document: object): (fragment: string) => string | undefined }>(
  './anchors.js',
);

const file = new URL('../../../../docs/reference/openapi.json', import.meta.url);
const document = JSON.parse(readFileSync(file, 'utf8')) as ApiDocument;
const shown = forPage(document, 'http://127.0.0.1:8080');
const operationsOf = ({ paths }: ApiDocument) => Object.values(paths).flatMap((methods) => Object.values(methods));

it('each operation shows its scope and all its errors with their meanings', () => {
  const operations = operationsOf(shown);
  expect(operations.length).toBeGreaterThan(100);
  for (const { description, responses, 'x-scope': scope } of operations) {
    expect(description).toContain(scope ? `**Scope:** \`${scope}\`` : '**Scope:** any key');
    for (const [status, { $ref }] of Object.entries(responses).filter(([each]) => each >= '400')) {
      const { content } = document.components.responses[$ref!.split('/').at(-1)!]!;
      expect(description).toContain(`${status} \``);
      for (const code of Object.keys(content['application/json']!.examples))
        expect(description).toContain(`\`${code}\``);
    }
    expect(description).not.toContain('undefined');
  }
});

it('an error that only some operations have shows its meaning', () => {
  const { description } = operationsOf(shown).find(({ operationId }) => operationId === 'bookAppointment')!;
  expect(description).toContain('- 409 `slot_taken`: The time cannot be booked;');
  expect(description).toContain('As [every operation](/docs/errors): 401 `key_required`, `invalid_key`;');
});

it("the document has the page's address, and not the site's guides", () => {
  expect(shown.info.description).toContain('curl http://127.0.0.1:8080/v1/me');
  expect(JSON.stringify(shown)).not.toContain('{base_url}');
  expect(shown.info.description).not.toContain('## Errors');
});

it('a period is not filled in, because its start and end have the same examples', () => {
  const { parameters } = shown.paths['/v1/calendar/free-times']!.get!;
  const period = parameters!.filter(({ name }) => name === 'from' || name === 'to');
  expect(period.map(({ schema }) => schema)).toEqual(
    period.map(() => expect.not.objectContaining({ examples: expect.anything() })),
  );
  expect(period).toHaveLength(2);
});

it('only operations and events have anchors, by their ids', () => {
  const anchorOf = anchorsOf(document);
  for (const { operationId, tags } of operationsOf(document))
    expect(anchorOf(`#${operationId}`)).toBe(`#tag/${tags[0]}/${operationId}`);
  for (const kind of Object.keys(document.webhooks)) expect(anchorOf(`#${kind}`)).toBe(`#webhook/${kind}`);
  for (const other of ['', '#', '#description/introduction', '#tag/cdp', '#constructor'])
    expect([other, anchorOf(other)]).toEqual([other, undefined]);
});
