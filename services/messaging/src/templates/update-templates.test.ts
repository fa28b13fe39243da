import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { defaultText } from './default-texts.ts';

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform({ services: ['messaging'] });
}, 60_000);
afterAll(() => platform.stop());

const path = '/v1/messages/templates';
const name = 'appointment_booked';

function standard(language: string) {
  const { subject, body } = defaultText(name, language);
  return { subject, body, whatsapp: null, is_default: true };
}

describe('the texts of an account', () => {
  it('are the defaults of its language until it has its own', async () => {
    for (const language of ['en', 'de', 'fr', 'es', 'it', 'nl']) {
      const { client } = await platform.account({ language });
      const shown = await client.messages.templates.get();
      expect(shown[name]).toEqual(standard(language));
      expect(Object.values(shown).map(({ is_default }) => is_default)).toEqual([true, true, true]);
    }
    const { client } = await platform.account({ language: 'ja' });
    expect((await client.messages.templates.get())[name]).toEqual(standard('en'));
  });

  it('change one by one, and by subject and body; the rest stays', async () => {
    const { client } = await platform.account({ language: 'de' });
    const before = await client.messages.templates.get();
    const subject = 'Bis {{date}}';
    const changed = await client.messages.templates.update({ body: { [name]: { subject } } });
    expect(changed).toEqual({ ...before, [name]: { ...before[name], subject, is_default: false } });
    const both = await client.messages.templates.update({ body: { [name]: { body: 'Hallo {{contact_name}}' } } });
    expect(both[name]).toEqual({ subject, body: 'Hallo {{contact_name}}', whatsapp: null, is_default: false });
    const again = await client.messages.templates.update({ body: { [name]: { subject: '' } } });
    expect(again[name]).toEqual({ subject: '', body: 'Hallo {{contact_name}}', whatsapp: null, is_default: false });
    expect(await client.messages.templates.get()).toEqual(again);
  });

  it('stay defaults if nothing new is given, and become defaults again with null', async () => {
    const { client, request } = await platform.account();
    const before = await client.messages.templates.get();
    for (const body of [{}, { [name]: {} }, { [name]: { subject: null } }, before])
      expect(await request('PATCH', path, { body })).toMatchObject({ status: 200, body: before });
    const own = { subject: 'Own', body: 'Own' };
    await client.messages.templates.update({ body: { [name]: own, appointment_reminder: own } });
    const after = await client.messages.templates.update({ body: { [name]: null } });
    expect(after).toEqual({ ...before, appointment_reminder: { ...own, whatsapp: null, is_default: false } });
    expect(await client.messages.templates.get()).toEqual(after);
    expect(await client.messages.templates.update({ body: { [name]: null, appointment_reminder: null } })).toEqual(
      before,
    );
  });

  it('do not apply to another account or to its sandbox', async () => {
    const [{ client, testClient }, other] = [await platform.account(), await platform.account()];
    await client.messages.templates.update({ body: { [name]: { body: 'Live' } } });
    expect((await testClient.messages.templates.get())[name]).toEqual(standard('en'));
    expect((await other.client.messages.templates.get())[name]).toEqual(standard('en'));
  });

  it('keep both of two concurrent changes', async () => {
    const { client } = await platform.account();
    await Promise.all([
      client.messages.templates.update({ body: { [name]: { subject: 'S' } } }),
      client.messages.templates.update({ body: { [name]: { body: 'B' } } }),
      client.messages.templates.update({ body: { appointment_reminder: { body: 'R' } } }),
    ]);
    const shown = await client.messages.templates.get();
    expect(shown[name]).toEqual({ subject: 'S', body: 'B', whatsapp: null, is_default: false });
    expect(shown.appointment_reminder.body).toBe('R');
  });

  it.each([
    { subject: 'x'.repeat(256) },
    { body: '' },
    { body: 'x'.repeat(4_097) },
    { body: 'Hello {{contact}}' },
    { subject: '{{ Title }}' },
  ])('refuse %j', async (text) => {
    const { request, client } = await platform.account();
    const response = await request('PATCH', path, { body: { [name]: text, appointment_reminder: { body: 'Own' } } });
    expect(response).toMatchObject({ status: 400, body: { error: { code: 'invalid_request', field: name } } });
    expect((await client.messages.templates.get()).appointment_reminder.is_default).toBe(true);
  });
});
