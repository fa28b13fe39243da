/**
 * Returns an error in the one form that the console has: a URL whose response was an error, `https://shop.example/hooks: 500`, as
 * `HTTP 500 from https://shop.example/hooks`; a bare status would read as part of what follows it. Any other text stays as it is.
 */
export function errorText(text: string): string {
  const [, url, status] = /^(https?:\/\/\S+): (\d{3})$/.exec(text) ?? [];
  return url === undefined ? text : `HTTP ${status} from ${url}`;
}
