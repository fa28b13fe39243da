import { expect, it } from '@jest/globals';
import { replaceUnknownLanguage } from './language.ts';

it.each([
  [
    { language: 'en-US@posix', languages: ['en-US@posix'] },
    { language: 'en', languages: ['en'] },
  ],
  [
    { language: 'C', languages: ['de', 'C'] },
    { language: 'en', languages: ['de'] },
  ],
  [
    { language: 'pt-BR', languages: ['pt-BR', 'en'] },
    { language: 'pt-BR', languages: ['pt-BR', 'en'] },
  ],
  [
    { language: 'de', languages: [] },
    { language: 'de', languages: [] },
  ],
])('the languages of %j are those that Intl takes', (given, { language, languages }) => {
  const browser = { ...given };
  replaceUnknownLanguage(browser);
  expect(browser.language).toBe(language);
  expect(browser.languages).toEqual(languages);
  expect(() => new Intl.NumberFormat(browser.language)).not.toThrow();
});
