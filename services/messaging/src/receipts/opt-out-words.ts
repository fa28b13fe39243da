import type { InboundType } from '@customer-platform/contracts/messaging';

const stopWords = new Set([
  'stop',
  'stopall',
  'unsubscribe',
  'cancel',
  'end',
  'quit',
  'stopp',
  'abmelden',
  'arret',
  'arrêt',
  'alto',
  'baja',
  'annulla',
  'afmelden',
]);
const startWords = new Set(['start', 'unstop', 'ja']);

/** Punctuation of all scripts, and ASCII symbols that people use as punctuation. */
const punctuation = /[\p{P}$+<=>^`|~]/gu;

/**
 * Returns the consent that a text or button withdraws or grants. The text must be one of the words alone, in any case
 * and with any punctuation. Returns null otherwise.
 */
export function optOutOf({ type, body }: { type: InboundType; body: string }): 'withdrawn' | 'granted' | null {
  if (type !== 'text' && type !== 'button') return null;
  const word = body.replace(punctuation, '').trim().toLowerCase().normalize();
  if (stopWords.has(word)) return 'withdrawn';
  return startWords.has(word) ? 'granted' : null;
}
