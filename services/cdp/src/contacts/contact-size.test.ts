import type { Contact } from '@customer-platform/contracts/cdp';
import { startPlatform, type TestAccount } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { mergeInto, refusal } from '../../test/cdp.ts';

const platform = await startPlatform({ services: ['cdp'] });
const sql = platform.database('cdp');
afterAll(() => platform.stop());

let account: TestAccount;
beforeEach(async () => {
  account = await platform.account();
});

const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
/** Each character takes six bytes of JSON. */
const wide = (length: number, mark = '') => mark.padEnd(length, '\u0001');
const mostEventBytes = 900 * 1_024;
const mostFieldsBytes = 64 * 1_024;

/** Fields of 1,000 such characters each, with at most this much JSON; exactly this much if padded with "x". */
function fieldsOf(length: number, mark: string, unit = 'x'): Record<string, string> {
  const fields: Record<string, string> = {};
  const full = unit.repeat(1_000);
  while (bytes({ ...fields, next: full }) + 100 <= length) fields[`${mark}${Object.keys(fields).length}`] = full;
  if (unit !== 'x') return fields;
  fields.half = 'x'.repeat(40);
  return { ...fields, rest: 'x'.repeat(length - bytes({ ...fields, rest: '' })) };
}

const largest = (mark: string) => ({
  external_id: 'same',
  name: wide(200),
  tags: Array.from({ length: 100 }, (_, index) => wide(100, `${mark}${index}`)),
  fields: fieldsOf(mostFieldsBytes - 10, mark, '\u0001'),
});
const update = (contact: Contact, body: object) =>
  account.client.cdp.contacts.update({ params: { contact_id: contact.id }, body });

async function largestEvent(kind: string, id: string): Promise<number> {
  await platform.event(account.id, kind, ({ contact }) => contact.id === id);
  return Math.max(...platform.events(account.id).map(bytes));
}

it('the fields of a contact are at most 64 KiB of JSON in UTF-8, whether given, merged by PATCH or put', async () => {
  const fields = fieldsOf(mostFieldsBytes, 'f');
  expect(bytes(fields)).toBe(mostFieldsBytes);
  const made = await account.client.cdp.contacts.create({ body: { external_id: 'put', fields } });
  const refused = refusal(400, 'fields');
  const more = { ...fields, f0: `${fields.f0!.slice(1)}é` };
  await expect(account.client.cdp.contacts.create({ body: { name: 'Ada', fields: more } })).rejects.toMatchObject(
    refused,
  );
  await expect(update(made, { fields: { more: true } })).rejects.toMatchObject(refused);
  await expect(update(made, { fields: { f0: more.f0 } })).rejects.toMatchObject(refused);
  const params = { external_id: 'put' };
  const put = (body: object) => account.client.cdp.contacts.upsertByExternalId({ params, body });
  await expect(put({ fields: { more: true } })).rejects.toMatchObject(refused);
  expect((await update(made, { fields: { f0: null, more: true } })).fields).toMatchObject({ more: true });
});

describe('the largest contact', () => {
  it('has events below 900 KiB, even if all of its values change', async () => {
    const made = await account.client.cdp.contacts.create({ body: largest('a') });
    const cleared = Object.fromEntries(Object.keys(made.fields).map((name) => [name, null]));
    await update(made, { ...largest('b'), name: wide(199), fields: { ...cleared, ...largest('b').fields } });
    const size = await largestEvent('contact.updated', made.id);
    expect(size).toBeGreaterThan(200 * 1_024);
    expect(size).toBeLessThan(mostEventBytes);
  });

  it('can be merged with others like it: it keeps its own values and takes what fits', async () => {
    let kept = await account.client.cdp.contacts.create({ body: largest('a') });
    const others: Contact[] = [];
    for (const mark of ['b', 'c', 'd']) others.push(await account.client.cdp.contacts.create({ body: largest(mark) }));
    for (const other of others) {
      const survivor = await mergeInto({ platform, sql, account }, kept.id, other.id);
      expect(survivor.fields).toEqual(kept.fields);
      expect(survivor.tags.slice(0, kept.tags.length)).toEqual(kept.tags);
      kept = survivor;
    }
    expect(kept.tags.length).toBeGreaterThanOrEqual(200);
    expect(bytes(kept.tags)).toBeLessThanOrEqual(128 * 1_024);
    expect(await largestEvent('contact.merged', kept.id)).toBeLessThan(mostEventBytes);
    await update(kept, { tags: ['one'] });
    expect(await largestEvent('contact.updated', kept.id)).toBeLessThan(mostEventBytes);
  });
});
