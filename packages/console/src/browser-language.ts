/** The browser's languages, as navigator has them. */
interface Languages {
  readonly language: string;
  readonly languages: readonly string[];
}

/** Returns whether Intl takes a language, which it does not for what some environments name, such as `en-US@posix`. */
function isKnown(language: string): boolean {
  try {
    return Intl.getCanonicalLocales(language).length > 0;
  } catch {
    return false;
  }
}

/** Has a browser whose language Intl refuses say `en` instead, also to packages, which would throw; any other stays as it is. */
export function replaceUnknownLanguage(browser: Languages): void {
  if (!isKnown(browser.language)) Object.defineProperty(browser, 'language', { value: 'en', configurable: true });
  const known = browser.languages.filter(isKnown);
  if (known.length === browser.languages.length) return;
  const languages = known.length > 0 ? known : ['en'];
  Object.defineProperty(browser, 'languages', { value: Object.freeze(languages), configurable: true });
}
