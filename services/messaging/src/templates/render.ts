import { firstCodePoints } from '@customer-platform/contracts/core';
import { type Placeholder, placeholders } from '@customer-platform/contracts/messaging';
import { LRUCache } from '@customer-platform/service-kit';

const placeholder = /\{\{\s*([a-z_]+)\s*\}\}/g;
const spacedPlaceholder = / ?\{\{([a-z_]+)\}\}/g;

const isPlaceholder = (name: string): name is Placeholder => (placeholders as readonly string[]).includes(name);

/**
 * Returns a text with its placeholders replaced, at most `max` code points. An empty value also removes the space
 * before it, and its line if otherwise empty. Values are never parsed for placeholders.
 */
export function render(text: string, values: Record<Placeholder, string>, max: number): string {
  const lines = text
    .replace(placeholder, (found, name: string) => (isPlaceholder(name) ? `{{${name}}}` : found))
    .split(/\r?\n/);
  const rendered = lines.flatMap((line) => {
    const shown = line.replace(spacedPlaceholder, (found, name: string) => {
      if (!isPlaceholder(name)) return found;
      const value = values[name].trim();
      return value !== '' && found.startsWith(' ') ? ` ${value}` : value;
    });
    const isLeftOut = shown.trim() === '' && line.trim() !== '';
    return isLeftOut ? [] : [shown];
  });
  return firstCodePoints(rendered.join('\n').trim(), max);
}

/** Formats of a time in one language and zone. */
interface Formats {
  date: Intl.DateTimeFormat;
  time: Intl.DateTimeFormat;
}

/** Maximum number of cached formats. Creating one takes longer than a hundred uses, and each takes some kilobytes. */
const maxFormats = 300;
const formats = new LRUCache<string, Formats>({ max: maxFormats });

/**
 * Returns the long date with weekday, and the time, in a language, or in English if it is unknown. `language` is a tag
 * such as de or pt-BR; anything after the region is ignored. `zone` is an IANA name.
 */
export function localDateAndTime(instant: Date, language: string, zone: string): { date: string; time: string } {
  const key = `${language} ${zone}`;
  let known = formats.get(key);
  if (!known) {
    known = formatsOf(language, zone);
    formats.set(key, known);
  }
  return { date: plain(known.date.format(instant)), time: plain(known.time.format(instant)) };
}

function formatsOf(language: string, timeZone: string): Formats {
  // Intl throws for a malformed tag, which an account may have.
  const [locale = 'en'] = /^[a-z]{2,3}(-[a-z]{4}\b)?(-([a-z]{2}|\d{3})\b)?/i.exec(language) ?? [];
  const locales = [locale, 'en'];
  return {
    date: new Intl.DateTimeFormat(locales, { dateStyle: 'full', timeZone }),
    time: new Intl.DateTimeFormat(locales, { timeStyle: 'short', timeZone }),
  };
}

/** Narrow and non-breaking spaces more than double the price of an SMS. */
function plain(text: string): string {
  return text.replace(/[\u00a0\u202f]/g, ' ');
}
