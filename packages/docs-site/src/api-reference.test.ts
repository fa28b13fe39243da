import { expect, it } from '@jest/globals';
import { readDocument } from './api-document.ts';
import { sectionsOf, writeReference } from './api-reference.ts';

const document = readDocument();
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));

it('has every operation once, under a heading with its id as anchor', () => {
  const anchors = [...writeReference(document).matchAll(/^### .+ \{ #(\w+) \}$/gm)].map(([, id]) => id);
  expect(anchors.sort()).toEqual(operations.map(({ operationId }) => operationId).sort());
});

it('has the groups in the order of the document', () => {
  const groups = [...writeReference(document).matchAll(/^## .+ \{ #tag\/(\w+) \}$/gm)].map(([, name]) => name);
  expect(groups).toEqual(document.tags.map(({ name }) => name));
});

it('describes the fields of requests and responses, one level deep', () => {
  const [, sending] = writeReference(document).split('{ #sendMessage }');
  const [request, response] = sending!.split('\n### ', 1)[0]!.split('**Response 202**');
  expect(request).toContain('- `channels` (array of object, required): Channels to try, in order.');
  expect(request).toContain('\n  - `channel` (`whatsapp`, `sms`, `email`, required): It must be set up');
  // The description is a sibling of a reference.
  expect(request).toMatch(/^- `purpose` \(`\w+`, `\w+`\): A marketing message is sent only if/m);
  expect(response).toMatch(/^- `status` \(`scheduled`, .*`refused`\): `sent`: a provider accepted the message/m);
  expect(response).toMatch(/^- `contact` \(object or null\): The recipient/m);
  expect(response).toMatch(/^ {2}- `phone` \(string\): Phone number in E\.164/m);
});

it('has no field without a description', () => {
  expect(writeReference(document).match(/^ *- `\w+` \(.*\): $/gm) ?? []).toEqual([]);
});

it('describes the request, scope, client call, parameters, fields and errors of an operation', () => {
  const { text } = sectionsOf(document).find(({ operation }) => operation.operationId === 'rotateApiKey')!;
  expect(text).toContain('`POST /v1/keys/{key_id}/rotate`');
  expect(text).toContain('**Scope:** `account:write` · **Client:** `client.keys.rotate`');
  expect(text).toContain('- `key_id` (uuid, required): Id of an API key.');
  expect(text).toContain('- `overlap_seconds` (integer): How long the old key keeps working');
  expect(text).toContain('**Errors:** 400 `invalid_request` · 401 `key_required`, `invalid_key` · ');
  expect(text).toContain(' · 409 `invalid_state` · ');
});
