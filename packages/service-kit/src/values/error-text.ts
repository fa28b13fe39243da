/** Most characters of an error that are kept. */
const maxLength = 500;

/** Returns an error's text as it is kept and shown. */
export function errorText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll('\0', '').toWellFormed().slice(0, maxLength);
}
