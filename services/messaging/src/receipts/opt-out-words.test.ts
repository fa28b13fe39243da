import { expect, it } from '@jest/globals';
import { optOutOf } from './opt-out-words.ts';

const said = (body: string) => optOutOf({ type: 'text', body });

it.each([
  ['English', ['stop', 'stopall', 'unsubscribe', 'cancel', 'end', 'quit']],
  ['German', ['stopp', 'abmelden']],
  ['French', ['arret', 'arrêt', 'arre\u0302t']],
  ['Spanish', ['alto', 'baja']],
  ['Italian', ['annulla']],
  ['Dutch', ['afmelden']],
])('a word to stop in %s opts out, in any case', (_language, words) => {
  for (const word of words)
    expect([word, said(word), said(word.toUpperCase())]).toEqual([word, 'withdrawn', 'withdrawn']);
});

it.each(['start', 'unstop', 'ja', 'Start', 'UNSTOP!', ' Ja. '])('%j opts in', (body) => {
  expect(said(body)).toBe('granted');
});

it.each([
  '  stop \n',
  'STOP.',
  'Stop!!!',
  '"stop"',
  '“Stop”',
  '¡Alto!',
  '*STOP*',
  '~stop~',
  '<stop>',
  'S.T.O.P.',
  'stop !',
])('%j opts out: space and punctuation around a word do not count', (body) => {
  expect(said(body)).toBe('withdrawn');
});

it.each([
  '',
  ' ',
  '!',
  'please stop',
  'stop it',
  'stop all',
  'non-stop',
  'stopping',
  'cancel my appointment',
  'yes',
  '🛑',
])('%j is a message like any other', (body) => {
  expect(said(body)).toBeNull();
});

it('a pressed button counts like a text, and no other type with text does', () => {
  expect(optOutOf({ type: 'button', body: 'Stop' })).toBe('withdrawn');
  for (const type of ['image', 'interactive', 'order', 'reaction', 'location'] as const)
    expect(optOutOf({ type, body: 'stop' })).toBeNull();
});

it('a text of maximum length is parsed fast', () => {
  expect(said(`${'!'.repeat(1_000_000)}stop${' '.repeat(1_000_000)}`)).toBe('withdrawn');
  expect(said('stop!'.repeat(200_000))).toBeNull();
});
