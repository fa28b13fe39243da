import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApiError, operationsOf } from '@customer-platform/contracts/core';
import { waitFor } from '@customer-platform/testkit';
import { describe, expect, it } from '@jest/globals';
import express from 'express';
import { z } from 'zod';
import { readForm } from './form-body.ts';
import { bodyFingerprint, bodyParser, bodyReader } from './request-body.ts';

const upload = operationsOf('agents', null)('upload', {
  method: 'POST',
  path: '/v1/agents/uploads',
  scope: null,
  summary: 'Takes a file',
  bodyType: 'multipart',
  body: z.object({
    file: z.file(),
    title: z.string().max(5).optional(),
    place: z.int().optional(),
    active: z.boolean().default(true),
  }),
  status: 201,
  response: z.object({}),
  errors: [],
});
const parseBody = bodyParser(upload);

interface Sent {
  body: Buffer;
  headers: { 'content-type': string };
}

const received = async ({ body, headers }: Sent) => ({ headers, body: await readForm(body, headers['content-type']) });
const parse = async (form: Sent) => parseBody(await received(form));

async function sent(entries: [string, string | Blob, string?][], headers: Record<string, string> = {}) {
  const form = new FormData();
  for (const [name, value, fileName] of entries) {
    if (typeof value === 'string') form.append(name, value);
    else form.append(name, value, fileName);
  }
  const message = new Response(form);
  const body = Buffer.from(await message.arrayBuffer());
  return { body, headers: { 'content-type': message.headers.get('content-type')!, ...headers } } satisfies Sent;
}

const file = (bytes: Uint8Array<ArrayBuffer> | string, name = 'ü.txt') =>
  ['file', new Blob([bytes]), name] as [string, Blob, string];

async function refusal(request: Awaited<ReturnType<typeof sent>>) {
  const error: unknown = await parse(request).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ApiError);
  const { status, code, field } = error as ApiError;
  return { status, code, field };
}
const invalid = (field: string) => ({ status: 400, code: 'invalid_request', field });

describe('a form', () => {
  it('becomes its fields with typed numbers and booleans, and its file byte for byte with its name', async () => {
    const bytes = Uint8Array.from({ length: 70_000 }, (_, index) => index % 256);
    const given = await sent([file(bytes), ['title', 'Tea'], ['place', '7'], ['active', 'false']]);
    const { file: taken, ...fields } = await parse(given);
    expect(fields).toEqual({ title: 'Tea', place: 7, active: false });
    expect((taken as File).name).toBe('ü.txt');
    expect(Buffer.from(await (taken as File).arrayBuffer()).equals(Buffer.from(bytes))).toBe(true);
  });

  it('gets the defaults of omitted fields', async () => {
    const { active, title } = await parse(await sent([file('x')]));
    expect({ active, title }).toEqual({ active: true, title: undefined });
  });

  it('is refused with the field that is wrong, missing or given twice', async () => {
    expect(await refusal(await sent([['title', 'Tea']]))).toEqual(invalid('file'));
    expect(await refusal(await sent([['file', 'a text']]))).toEqual(invalid('file'));
    expect(await refusal(await sent([file('x'), ['title', 'too long']]))).toEqual(invalid('title'));
    expect(await refusal(await sent([file('x'), ['place', '1e3']]))).toEqual(invalid('place'));
    expect(await refusal(await sent([file('x'), ['active', 'yes']]))).toEqual(invalid('active'));
    expect(await refusal(await sent([file('x'), file('y')]))).toEqual(invalid('file'));
  });

  it('is refused if it is not a form, or is incomplete', async () => {
    const whole = await sent([file('x')]);
    expect(await refusal({ ...whole, headers: { 'content-type': 'application/json' } })).toEqual(invalid('body'));
    expect(await refusal({ ...whole, headers: { 'content-type': 'multipart/form-data' } })).toEqual(invalid('body'));
    expect(await refusal({ ...whole, body: whole.body.subarray(0, -10) })).toEqual(invalid('body'));
    expect(await refusal({ ...whole, body: Buffer.alloc(0) })).toEqual(invalid('body'));
    const other = whole.headers['content-type'].replace(/boundary=.*/, 'boundary=other');
    expect(await refusal({ ...whole, headers: { 'content-type': other } })).toEqual(invalid('body'));
  });

  it('has one fingerprint whatever its boundary, and another one if any content differs', async () => {
    const print = async (entries: Parameters<typeof sent>[0]) =>
      bodyFingerprint(await received(await sent(entries))).toString('hex');
    const first = await print([file('x'), ['title', 'Tea']]);
    expect(await print([file('x'), ['title', 'Tea']])).toBe(first);
    const others = await Promise.all([
      print([file('y'), ['title', 'Tea']]),
      print([file('x', 'other.txt'), ['title', 'Tea']]),
      print([file('x'), ['title', 'Te']]),
      print([file('x')]),
    ]);
    expect(new Set([first, ...others]).size).toBe(5);
    expect(await print([['title', 'Tea'], file('x')])).toBe(first);
  });

  it('that cannot be read has a fingerprint of its bytes', async () => {
    const whole = await sent([file('x')]);
    const cut = { ...whole, body: whole.body.subarray(0, -10) };
    const prints = await Promise.all([received(cut), received(cut), received({ ...cut, body: cut.body.subarray(1) })]);
    const [first, again, other] = prints.map((form) => bodyFingerprint(form).toString('hex'));
    expect([first === again, first === other]).toEqual([true, false]);
  });

  it('with too many parts or too long headers is refused without being read to its end', async () => {
    const many = Array.from({ length: 21 }, (_, index) => [`field${index}`, 'x'] as [string, string]);
    expect(await refusal(await sent(many))).toEqual(invalid('body'));
    const part = (index: number) => `\r\n--q\r\nContent-Disposition: form-data; name="${index}"\r\n\r\n`;
    const big = Buffer.from(Array.from({ length: 350_000 }, (_, index) => part(index)).join(''));
    expect(await refusal({ body: big, headers: { 'content-type': 'multipart/form-data; boundary=q' } })).toEqual(
      invalid('body'),
    );
    const headers = `--q\r\nContent-Disposition: form-data; name="${'n'.repeat(100_000)}"\r\n\r\nx\r\n--q--\r\n`;
    const long = { body: Buffer.from(headers), headers: { 'content-type': 'multipart/form-data; boundary=q' } };
    expect(await refusal(long)).toEqual(invalid('file'));
    expect(await refusal(await sent([file('x'), ['title', 't'.repeat(70_000)]]))).toEqual(invalid('title'));
  });

  it.each([1, 65_536, 65_560, 190_000])(
    'is read to its end if its last part has no name and %i bytes',
    async (bytes) => {
      const part = '--q\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nabc\r\n';
      const nameless = `--q\r\nContent-Type: text/plain\r\n\r\n${'x'.repeat(bytes)}\r\n--q--`;
      const { parts, error } = await readForm(Buffer.from(part + nameless), 'multipart/form-data; boundary=q');
      expect([Object.keys(parts), error]).toEqual([['file'], undefined]);
    },
  );
});

describe('large bodies in memory', () => {
  const take = operationsOf('cdp', null)('take', {
    method: 'POST',
    path: '/v1/cdp/take',
    scope: null,
    summary: 'Takes a body',
    body: z.object({}),
    status: 201,
    response: z.object({}),
    errors: [],
  });

  it('are limited per owner and in total until their responses are sent', async () => {
    const held: ServerResponse[] = [];
    const statuses: number[] = [];
    const app = express();
    app.post(
      '/',
      bodyReader(take, (incoming) => String(incoming.headers.owner)),
      (_, response) => void held.push(response),
    );
    app.use(
      (error: ApiError, _: unknown, response: express.Response, _next: unknown) =>
        void response.status(error.status).end(),
    );
    const server = createServer(app);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const post = (owner: string, bytes: number) => {
      const headers = { owner, 'content-length': String(bytes) };
      const sending = request({ port, method: 'POST', headers }, (response) =>
        statuses.push(response.resume().statusCode!),
      );
      sending.on('error', () => undefined).end(Buffer.alloc(bytes));
    };
    try {
      for (let count = 0; count < 40; count++) post('one', 1_048_576);
      await waitFor('all requests', () => held.length + statuses.length === 40);
      expect([held.length, [...new Set(statuses)]]).toEqual([32, [429]]);
      post('one', 1_024);
      post('other', 1_048_576);
      await waitFor('a small body, and one of another owner', () => held.length === 34);
      for (const response of held.splice(0)) response.end();
      await waitFor('the responses', () => statuses.filter((status) => status === 200).length === 34);
      post('one', 1_048_576);
      await waitFor('another body', () => held.length === 1);
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });
});
