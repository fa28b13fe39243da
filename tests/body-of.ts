import type { Operation } from '@customer-platform/contracts/core';
import type { RequestOptions } from '@customer-platform/testkit';

const boundary = 'the-boundary-of-a-test';

/** Returns an operation's body as JSON or as a form. The same body gives the same bytes. */
export function bodyOf(operation: Operation, body: unknown): RequestOptions {
  if (operation.bodyType !== 'multipart') return { body };
  const fields = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  const parts = fields.map(([name, value]) => {
    const fileName = name === 'file' ? '; filename="notes.txt"\r\nContent-Type: text/plain' : '';
    const text = typeof value === 'string' ? value.toWellFormed() : String(JSON.stringify(value));
    const inName = name.toWellFormed().replace(/[\r\n"]/g, (char) => encodeURIComponent(char));
    return `--${boundary}\r\nContent-Disposition: form-data; name="${inName}"${fileName}\r\n\r\n${text}\r\n`;
  });
  const rawBody = `${parts.join('')}--${boundary}--\r\n`;
  return { rawBody, headers: { 'content-type': `multipart/form-data; boundary=${boundary}` } };
}
