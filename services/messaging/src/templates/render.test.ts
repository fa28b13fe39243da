import { describe, expect, it } from '@jest/globals';
import { localDateAndTime, render } from './render.ts';

const values = {
  contact_name: 'Carla Client',
  account_name: 'Acme',
  title: 'Consultation',
  date: 'Thursday',
  time: '9:00 AM',
  staff_name: 'Ada',
  location: '',
  meeting_link: '',
};
const say = (text: string, more: Partial<typeof values> = {}, max = 4_096) => render(text, { ...values, ...more }, max);

describe('a text', () => {
  it('replaces every placeholder by its value, however it is spaced', () => {
    expect(say('{{title}} with {{ staff_name }}, {{\ndate\n}} {{time}}: {{title}}!')).toBe(
      'Consultation with Ada, Thursday 9:00 AM: Consultation!',
    );
  });

  it('drops a line with only empty placeholders, and keeps the other lines', () => {
    expect(say('Hello\n{{location}}\n  {{meeting_link}} {{location}}\n\nBye')).toBe('Hello\n\nBye');
    expect(say('Hello\r\n{{location}}\r\nBye', { location: 'Main Street 1' })).toBe('Hello\nMain Street 1\nBye');
    expect(say('Where: {{location}}')).toBe('Where:');
    expect(say('{{location}}\n{{meeting_link}}')).toBe('');
  });

  it('has no space before an empty value', () => {
    expect(say('Hello {{contact_name}}, see you at {{location}}.', { contact_name: '' })).toBe('Hello, see you at.');
    expect(say('Hello {{contact_name}}, see you.')).toBe('Hello Carla Client, see you.');
    expect(say('{{contact_name}}{{title}}', { contact_name: '  ' })).toBe('Consultation');
  });

  it('inserts values literally: placeholders and patterns in them have no effect', () => {
    expect(say('{{title}} {{date}}', { title: '{{time}} $& $1' })).toBe('{{time}} $& $1 Thursday');
  });

  it.each([
    ['spaces after braces', `{{${' '.repeat(100_000)}`],
    ['spaces after a name', `{{title${' '.repeat(100_000)}x`],
    ['many braces', '{{'.repeat(50_000)],
    ['many braces with spaces', '{{ \n'.repeat(30_000)],
    ['spaces between names', `{{ ti${' '.repeat(100_000)}tle }}`],
    ['line ends', '\r'.repeat(100_000)],
  ])('is read in linear time: %s', (_, text) => {
    expect(say(text, {}, 200_000)).toBe(text.trim());
  });

  it('keeps unknown placeholders', () => {
    expect(say('{{nobody}} {title} {{}} {{{title}}}')).toBe('{{nobody}} {title} {{}} {Consultation}');
  });

  it('is cut to its length in whole characters', () => {
    expect(say('{{title}}', { title: '😀😀😀' }, 2)).toBe('😀😀');
    expect(say('{{title}}{{title}}', { title: '😀' }, 4)).toBe('😀😀');
    expect(say('{{title}}', { title: 'abc' }, 3)).toBe('abc');
  });
});

describe('date and time', () => {
  const instant = new Date('2026-12-24T15:05:00Z');

  it.each([
    ['en', 'UTC', 'Thursday, December 24, 2026', '3:05 PM'],
    ['en-GB', 'Europe/London', 'Thursday, 24 December 2026', '15:05'],
    ['de', 'Europe/Berlin', 'Donnerstag, 24. Dezember 2026', '16:05'],
    ['fr', 'Europe/Paris', 'jeudi 24 décembre 2026', '16:05'],
    ['es', 'Europe/Madrid', 'jueves, 24 de diciembre de 2026', '16:05'],
    ['it', 'Europe/Rome', 'giovedì 24 dicembre 2026', '16:05'],
    ['nl', 'Europe/Amsterdam', 'donderdag 24 december 2026', '16:05'],
    ['ja', 'Asia/Tokyo', '2026年12月25日金曜日', '0:05'],
    ['pt-BR', 'America/Sao_Paulo', 'quinta-feira, 24 de dezembro de 2026', '12:05'],
  ])('are those of %s in %s', (language, zone, date, time) => {
    expect(localDateAndTime(instant, language, zone)).toEqual({ date, time });
  });

  it.each(['en-12', 'en-abcdefgh-abcdefgh-ab-ab', 'xx', 'en-de-1996-1996'])('are English for %s', (language) => {
    expect(localDateAndTime(instant, language, 'UTC').date).toMatch(/^Thursday,? .*2026$/);
  });

  it('have only plain spaces, and different days before and after midnight', () => {
    expect(JSON.stringify(localDateAndTime(instant, 'en', 'UTC'))).toMatch(/^[\x20-\x7e]*$/);
    expect(localDateAndTime(instant, 'en', 'Pacific/Auckland').date).toBe('Friday, December 25, 2026');
  });
});
