import { ApiError, operationsOf } from '@customer-platform/contracts/core';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { bodyParser } from './request-body.ts';

const upload = operationsOf('agents', null)('upload', {
  method: 'POST',
  path: '/v1/uploads',
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
  answer: z.object({}),
  errors: [],
});
const parse = bodyParser(upload);

async function sent(entries: [string, string | Blob, string?][], headers: Record<string, string> = {}) {
  const form = new FormData();
  for (const [name, value, fileName] of entries) {
    if (typeof value === 'string') form.append(name, value);
    else form.append(name, value, fileName);
  }
  const message = new Response(form);
  const body = Buffer.from(await message.arrayBuffer());
  return { body, headers: { 'content-type': message.headers.get('content-type')!, ...headers } };
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
  it('is its fields, numbers and booleans as such, and its file byte for byte with its name', async () => {
    const bytes = Uint8Array.from({ length: 70_000 }, (_, index) => index % 256);
    const given = await sent([file(bytes), ['title', 'Tea'], ['place', '7'], ['active', 'false']]);
    const { file: taken, ...fields } = await parse(given);
    expect(fields).toEqual({ title: 'Tea', place: 7, active: false });
    expect((taken as File).name).toBe('ü.txt');
    expect(Buffer.from(await (taken as File).arrayBuffer()).equals(Buffer.from(bytes))).toBe(true);
  });

  it('gets the defaults of what it leaves out', async () => {
    const { active, title } = await parse(await sent([file('x')]));
    expect({ active, title }).toEqual({ active: true, title: undefined });
  });

  it('is refused with the field that is wrong, or missing, or given twice', async () => {
    expect(await refusal(await sent([['title', 'Tea']]))).toEqual(invalid('file'));
    expect(await refusal(await sent([['file', 'a text']]))).toEqual(invalid('file'));
    expect(await refusal(await sent([file('x'), ['title', 'too long']]))).toEqual(invalid('title'));
    expect(await refusal(await sent([file('x'), ['place', '1e3']]))).toEqual(invalid('place'));
    expect(await refusal(await sent([file('x'), ['active', 'yes']]))).toEqual(invalid('active'));
    expect(await refusal(await sent([file('x'), file('y')]))).toEqual(invalid('file'));
  });

  it('is refused where it is none, or is cut off', async () => {
    const whole = await sent([file('x')]);
    expect(await refusal({ ...whole, headers: { 'content-type': 'application/json' } })).toEqual(invalid('body'));
    expect(await refusal({ ...whole, headers: { 'content-type': 'multipart/form-data' } })).toEqual(invalid('body'));
    expect(await refusal({ ...whole, body: whole.body.subarray(0, -10) })).toEqual(invalid('body'));
    expect(await refusal({ ...whole, body: Buffer.alloc(0) })).toEqual(invalid('body'));
    const other = whole.headers['content-type'].replace(/boundary=.*/, 'boundary=other');
    expect(await refusal({ ...whole, headers: { 'content-type': other } })).toEqual(invalid('body'));
  });
});
