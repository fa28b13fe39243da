import { expect, it } from '@jest/globals';
import { automaticSteps } from './automatic-steps.ts';

const content = { subject: 'Reminder', body: 'See you tomorrow' };
const automatic = { account_id: '', fallback: ['sms' as const, 'email' as const], fallback_after_seconds: 3_600 };
const timesOf = (set_up: object, mode: 'live' | 'test') =>
  automaticSteps('email', content, { ...automatic, set_up }, { mode }).map(
    ({ channel, fallback_after_seconds }) => `${channel} ${fallback_after_seconds}`,
  );

it('no step follows an accepted email, because mail servers send no receipts; in a sandbox they do', () => {
  expect(timesOf({ email: 'smtp', sms: 'twilio' }, 'live')).toEqual(['email null', 'sms 3600']);
  expect(timesOf({ email: 'http', sms: 'http' }, 'live')).toEqual(['email 3600', 'sms 3600']);
  expect(timesOf({}, 'test')).toEqual(['email 3600', 'sms 3600']);
});
