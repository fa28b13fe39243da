import { describe, expect, it } from '@jest/globals';
import { readForm } from './form-body.ts';

describe('a form whose last part has no name', () => {
  it.each([1, 65_536, 65_560, 100_000, 190_000])('is read to its end, its part of %i bytes', async (bytes) => {
    const filler = Buffer.alloc(bytes, 'x');
    const file = '--q\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nabc\r\n';
    const end = Buffer.from('\r\n--q--');
    const read = (head: string) =>
      readForm(Buffer.concat([Buffer.from(head), filler, end]), 'multipart/form-data; boundary=q');
    const { parts, error } = await read(`${file}--q\r\nContent-Type: text/plain\r\n\r\n`);
    expect([Object.keys(parts), error]).toEqual([['file'], undefined]);
    expect((await read('--q\r\n\r\n')).parts).toEqual({});
  });
});
