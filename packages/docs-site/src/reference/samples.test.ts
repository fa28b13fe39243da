import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';

interface Operation {
  operationId: string;
  'x-client-name': string;
  'x-codeSamples': { label: string; source: string }[];
  requestBody?: { content: Record<string, { example: object }> };
}
interface ApiDocument {
  paths: Record<string, Record<string, Operation>>;
}

const { addSamples } = (await import(new URL('./samples.js', import.meta.url).href)) as {
  addSamples(document: ApiDocument, address: string): void;
};
const file = new URL('../../../../docs/reference/openapi.json', import.meta.url);
const document = JSON.parse(readFileSync(file, 'utf8')) as ApiDocument;
addSamples(document, 'http://127.0.0.1:8080');
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
const sampleOf = (operation: Operation, label: string) =>
  operation['x-codeSamples'].find((each) => each.label === label)!.source;
const find = (id: string) => operations.find(({ operationId }) => operationId === id)!;

/** Client that records each called method with its input. */
class NotedClient {
  calls: { method: string; input?: { params?: object; query?: object; body?: object } }[] = [];

  at(path: string[]): object {
    return new Proxy(() => undefined, {
      get: (_, name) => this.at([...path, String(name)]),
      apply: (_, __, [input]) => {
        this.calls.push({ method: path.join('.'), input });
        return [];
      },
    });
  }
}

const AsyncFunction = (async () => undefined).constructor as FunctionConstructor;
const silent = { log: () => undefined };

it("a sample of the TypeScript client calls the operation's method with its examples", async () => {
  expect(operations.length).toBeGreaterThan(100);
  for (const operation of operations) {
    // Without the types and the import the sample is JavaScript.
    const code = sampleOf(operation, 'TypeScript client')
      .replace(/^import .*\n/, '')
      .replace('KEY!', 'KEY');
    const noted = new NotedClient();
    await AsyncFunction('createClient', 'console', code)(() => noted.at([]), silent);
    const [call] = noted.calls;
    expect([noted.calls.length, call!.method]).toEqual([1, operation['x-client-name']]);
    const [[type, content] = []] = Object.entries(operation.requestBody?.content ?? {});
    if (type === 'application/json') expect(call!.input!.body).toEqual(content!.example);
  }
});

it('a sample of the Python client uses snake case, positional path parameters and named fields', () => {
  expect(sampleOf(find('markNoShow'), 'Python client')).toContain('client.calendar.appointments.no_show(');
  expect(sampleOf(find('rescheduleAppointment'), 'Python client')).toContain(
    'client.calendar.appointments.reschedule(\n    "019a9c92-6b0d-7c84-9f80-91a2b3c4d5e0",\n    starts_at="2025-11-26T15:30:00+01:00",\n)',
  );
  expect(sampleOf(find('createTimeOff'), 'Python client')).toContain('from_=');
  const literals = operations.map((operation) => sampleOf(operation, 'Python client')).join('\n');
  expect(literals).not.toMatch(/[=:[] ?(true|false|null|undefined)\b/);
});

it("a sample of fetch sends the operation's request and prints the response", async () => {
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(methods)) {
      const sent: [url: string, init: { method: string; body?: unknown }][] = [];
      const printed: unknown[] = [];
      const fetchNoted = async (...request: (typeof sent)[number]) => {
        sent.push(request);
        return new Response('received');
      };
      const log = (...values: unknown[]) => printed.push(values.at(-1));
      await AsyncFunction('fetch', 'console', sampleOf(operation, 'JavaScript fetch'))(fetchNoted, { log });
      const [url, init] = sent[0]!;
      const inPath = path.split('/').map((part, place) => (part.startsWith('{') ? url.split(/[/?]/)[place + 2] : part));
      expect([sent.length, init.method, printed]).toEqual([1, method.toUpperCase(), ['received']]);
      expect(url.split('?', 1)[0]).toBe(`http://127.0.0.1:8080${inPath.join('/')}`);
      const content = operation.requestBody?.content['application/json'];
      if (content) expect(JSON.parse(String(init.body))).toEqual(content.example);
    }
});

it('a sample of curl or requests is complete: import, key and output', () => {
  const curl = sampleOf(find('deleteContact'), 'curl');
  expect(curl.split(' \\\n  ').slice(1)).toEqual([
    '--request DELETE',
    '--header "Authorization: Bearer $CUSTOMER_PLATFORM_KEY"',
  ]);
  for (const operation of operations) {
    const lines = sampleOf(operation, 'Python requests').split('\n');
    expect(lines.slice(0, 3)).toEqual(['import os', '', 'import requests']);
    expect(lines.at(-1)).toMatch(/^ *print\(/);
  }
});

it('a file sample uses a local file, and a stream is read in a loop', () => {
  expect(sampleOf(find('uploadFile'), 'TypeScript client')).toContain("file: new File(['…'], 'opening-hours.md')");
  expect(sampleOf(find('uploadFile'), 'Python client')).toContain('file=open("opening-hours.md", "rb")');
  expect(sampleOf(find('streamEvents'), 'TypeScript client')).toContain(
    'for await (const event of client.events.stream())',
  );
  expect(sampleOf(find('streamEvents'), 'Python client')).toContain('for event in client.events.stream():');
});
