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

/** Punctuation of all scripts, and the characters of ASCII that people take for it. */
const punctuation = /[\p{P}$+<=>^`|~]/gu;

/**
 * Returns what a text or a pressed button says about marketing: consent is withdrawn or granted by one of the words alone, whatever its case and
 * punctuation; null by any other message.
 */
export function optOutOf({ type, body }: { type: InboundType; body: string }): 'withdrawn' | 'granted' | null {
  if (type !== 'text' && type !== 'button') return null;
  const word = body.replace(punctuation, '').trim().toLowerCase().normalize();
  if (stopWords.has(word)) return 'withdrawn';
  return startWords.has(word) ? 'granted' : null;
}
