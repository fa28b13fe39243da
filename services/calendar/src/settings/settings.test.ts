import { startPlatform } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { invalid, openDesk } from '../../test/calendar.ts';

const platform = await startPlatform({ services: ['cdp', 'calendar'] });
afterAll(() => platform.stop());

const path = '/v1/calendar/settings';

describe('the settings', () => {
  it('start with defaults and change by key', async () => {
    const desk = await openDesk(platform);
    const defaults = await desk.get(path);
    expect(defaults).toMatchObject({ enabled: true, mode: 'online', location: '', reminders: [] });
    expect(await desk.patch(path, {})).toEqual(defaults);
    const reminders = [{ minutes_before: 60, channel: 'sms' }];
    const changed = await desk.patch(path, { mode: 'physical', confirmation: { channel: 'email' }, reminders });
    const confirmation = { ...defaults.confirmation, channel: 'email' };
    expect(changed).toEqual({ ...defaults, mode: 'physical', confirmation, reminders });
    expect(await desk.patch(path, { confirmation: { enabled: false } })).toEqual({
      ...changed,
      confirmation: { enabled: false, channel: 'email' },
    });
  });

  it('accept null for optional fields and reject it for required ones', async () => {
    const desk = await openDesk(platform);
    const reminders = [{ minutes_before: 60, channel: 'sms' }];
    const set = await desk.patch(path, { location: 'Here', reminders, mode: 'physical' });
    for (const field of ['enabled', 'mode', 'confirmation']) {
      const response = await desk.account.request('PATCH', path, { body: { location: 'There', [field]: null } });
      expect([field, response]).toMatchObject([field, invalid(field)]);
    }
    const channel = await desk.account.request('PATCH', path, { body: { confirmation: { channel: null } } });
    expect(channel).toMatchObject(invalid('confirmation'));
    expect(await desk.patch(path, { location: null })).toEqual({ ...set, location: '' });
    expect(await desk.patch(path, { reminders: null })).toEqual({ ...set, location: '', reminders: [] });
  });

  it('are separate per account, and concurrent changes are not lost', async () => {
    const [desk, other] = [await openDesk(platform), await openDesk(platform)];
    await Promise.all([
      desk.patch(path, { enabled: false }),
      desk.patch(path, { mode: 'physical' }),
      desk.patch(path, { location: 'Here' }),
    ]);
    expect(await desk.get(path)).toMatchObject({ enabled: false, mode: 'physical', location: 'Here' });
    expect(await other.get(path)).toMatchObject({ enabled: true, mode: 'online', location: '' });
  });

  it('reject invalid values', async () => {
    const desk = await openDesk(platform);
    const wrong: Record<string, unknown> = {
      enabled: 'yes',
      mode: 'either',
      location: 'x'.repeat(256),
      confirmation: { channel: 'fax' },
      reminders: [{ minutes_before: 43_201, channel: 'sms' }],
    };
    for (const [field, value] of Object.entries(wrong)) {
      const response = await desk.account.request('PATCH', path, { body: { [field]: value } });
      expect(response).toMatchObject(invalid(field));
    }
  });
});
