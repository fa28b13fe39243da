/** The languages of `navigator`. */
interface Languages {
  readonly language: string;
  readonly languages: readonly string[];
}

/** Returns whether Intl accepts a language. Some environments have invalid ones, such as `en-US@posix`. */
function isKnown(language: string): boolean {
  try {
    return Intl.getCanonicalLocales(language).length > 0;
  } catch {
    return false;
  }
}

/** Replaces browser languages that Intl rejects with `en`, since packages that pass them to Intl would throw. */
export function replaceUnknownLanguage(browser: Languages): void {
  if (!isKnown(browser.language)) Object.defineProperty(browser, 'language', { value: 'en', configurable: true });
  const known = browser.languages.filter(isKnown);
  if (known.length === browser.languages.length) return;
  const languages = known.length > 0 ? known : ['en'];
  Object.defineProperty(browser, 'languages', { value: Object.freeze(languages), configurable: true });
}
