/** Returns whether a string can be the API's address: an http or https URL without the `/v1` that every path begins with. */
export function isBaseUrl(text: string): boolean {
  try {
    const { protocol, pathname } = new URL(text);
    return (protocol === 'https:' || protocol === 'http:') && !/\/v1\/?$/.test(pathname);
  } catch {
    return false;
  }
}

/** Returns the end of an error message that begins with the setting's name. */
export function baseUrlRule(given: string): string {
  return `must be the API's address without /v1, such as https://api.example.com, not ${JSON.stringify(given)}`;
}
