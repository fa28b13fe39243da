import type { Appointment } from '@customer-platform/contracts/calendar';
import { placeholders, TemplatesChange, templateNames } from '@customer-platform/contracts/messaging';
import { describe, expect, it } from '@jest/globals';
import { appointmentText } from './appointment-text.ts';
import { defaultText } from './default-texts.ts';

const languages = ['en', 'de', 'fr', 'es', 'it', 'nl'];
const appointment: Appointment = {
  id: '0198c0de-0000-7000-8000-000000000001',
  title: 'Consultation',
  status: 'confirmed',
  booking_type: { id: 1, name: 'Consultation' },
  contact: { id: '0198c0de-0000-7000-8000-000000000002', name: 'Carla Client', phone: '+4930901820' },
  staff: { name: 'Ada', email: 'ada@desk.example' },
  starts_at: '2026-12-24T16:05:00+01:00',
  ends_at: '2026-12-24T16:35:00+01:00',
  mode: 'physical',
  location: 'Main Street 1',
  meeting_link: 'https://meet.example/1',
  notes: '',
  source: 'api',
  deal: null,
  created_at: '2026-12-01T00:00:00+01:00',
  updated_at: '2026-12-01T00:00:00+01:00',
};
const accountIn = (language: string, timezone = 'Europe/Berlin') => ({ name: 'Acme', language, timezone });
const say = (
  language: string,
  own?: { subject: string | null; body: string | null },
  more: Partial<Appointment> = {},
) =>
  appointmentText('appointment_booked', accountIn(language), own && { ...own, whatsapp: null }, {
    ...appointment,
    ...more,
  });

describe('the default texts', () => {
  it.each(languages)('of %s contain the account, title, time, place and link', (language) => {
    for (const name of templateNames) {
      const { subject, body } = defaultText(name, language);
      expect(TemplatesChange.parse({ [name]: { subject, body } })).toEqual({ [name]: { subject, body } });
      for (const value of ['account_name', 'title', 'date', 'time', 'location', 'meeting_link'])
        expect(body).toContain(`{{${value}}}`);
      expect(subject).toContain('{{date}}');
      const text = appointmentText(name, accountIn(language), undefined, appointment);
      expect(`${text.subject}${text.body}`).not.toMatch(/[{}]|undefined/);
      expect(text.body.length).toBeLessThan(306);
    }
  });

  it('exist for each language and occasion', () => {
    const all = languages.flatMap((language) => templateNames.map((name) => defaultText(name, language)));
    expect(new Set(all.map(({ subject }) => subject)).size).toBe(languages.length * templateNames.length);
    expect(new Set(all.map(({ body }) => body)).size).toBe(languages.length * templateNames.length);
  });

  it.each([
    ['de-AT', 'Ihr Termin am'],
    ['en-GB', 'Your appointment on Thursday, 24 December 2026'],
    ['ja', 'Your appointment on Thursday, December 24, 2026'],
    ['pt-BR', 'Your appointment on Thursday, December 24, 2026'],
  ])('of %s are those of its first part, else English with English dates', (language, beginning) => {
    expect(say(language).subject).toMatch(new RegExp(`^${RegExp.escape(beginning)}`));
  });
});

describe('an own text', () => {
  it('has every value, with dates in its language', () => {
    const body = placeholders.map((name) => `{{${name}}}`).join('|');
    expect(say('ja', { subject: null, body })).toEqual({
      subject: 'Your appointment on Thursday, December 24, 2026',
      body: 'Carla Client|Acme|Consultation|2026年12月24日木曜日|16:05|Ada|Main Street 1|https://meet.example/1',
    });
  });

  it('may consist of only a subject, even an empty one, or only a body', () => {
    expect(say('en', { subject: '', body: null })).toEqual({ ...say('en'), subject: '' });
    expect(say('en', { subject: null, body: 'Ok' })).toEqual({ ...say('en'), body: 'Ok' });
  });

  it('that renders empty is replaced by the default', () => {
    expect(say('en', { subject: 'Own', body: '{{location}}' }, { location: '' })).toEqual({
      ...say('en', undefined, { location: '' }),
      subject: 'Own',
    });
  });

  it('has a subject of one line and at most 255 characters, and a body of at most 4096', () => {
    const long = { title: `a\r\nBcc: b@example.com ${'x'.repeat(90)}` };
    const { subject, body } = say('en', { subject: '{{title}}'.repeat(9), body: '{{title}}\n'.repeat(90) }, long);
    expect(subject).toMatch(/^a Bcc: [^\r\n]*$/);
    expect([subject.length, body.length]).toEqual([expect.any(Number), 4_096]);
    expect(subject.length).toBeLessThanOrEqual(255);
  });
});
