import { zipOf } from '@customer-platform/testkit/documents';
import { describe, expect, it, jest } from '@jest/globals';
import { fileTypeOf } from './file-type.ts';

const emptyZip = (names: string[], comment?: string) =>
  zipOf(Object.fromEntries(names.map((name) => [name, { content: '' }])), comment);
const docx = emptyZip(['[Content_Types].xml', 'word/document.xml']);

/** Returns a zip whose first files have the longest names there can be, of bytes that are not UTF-8, before those of `names`. */
function zipAfterInvalidNames(names: string[]): Buffer {
  const long = ['\x01', '\x02', '\x03'].map((first) => first.padEnd(65_535, '\x00'));
  const zip = emptyZip([...long, ...names]);
  for (const name of long) {
    for (let at = zip.indexOf(name); at !== -1; at = zip.indexOf(name, at)) zip.fill(0xff, at, at + name.length);
  }
  return zip;
}

describe('the type of a file', () => {
  it.each([
    ['pdf', '%PDF-1.7\n', 'notes.txt'],
    ['docx', docx, 'letter.pdf'],
    ['docx', emptyZip(['word/document.xml', '[Content_Types].xml'], 'a comment'), ''],
    ['html', '<!DOCTYPE html><p>', 'page.txt'],
    ['html', '\ufeff \n<!-- a -->\n<?xml version="1.0"?><!--b--><HTML lang="de">', 'page'],
    ['txt', 'Hello', 'hello.txt'],
    ['txt', 'Hello', 'README'],
    ['txt', '\ufeffHallo, schöne Welt 😀', 'HELLO.TXT'],
    ['txt', 'One <html> in a text', 'a.txt'],
    ['md', '# Hello', 'hello.md'],
    ['md', '# Hello', 'hello.Markdown'],
    ['csv', 'a,b\n1,2', 'table.csv'],
  ])('is %s by what is in it, and for plain text by its name: case %#', (type, bytes, name) => {
    expect(fileTypeOf(Buffer.from(bytes), name)).toBe(type);
  });

  it.each([
    ['a zip', emptyZip(['a.txt']), 'a.docx'],
    ['a spreadsheet', emptyZip(['[Content_Types].xml', 'xl/workbook.xml']), 'a.docx'],
    [
      'a zip of more files than are looked at',
      emptyZip([...Array(5_000).keys(), '[Content_Types].xml', 'word/a.xml'].map(String)),
      'a.docx',
    ],
    ['a broken zip', docx.subarray(0, -8), 'a.docx'],
    ['a zip that lists nothing', Buffer.concat([docx.subarray(0, 4), Buffer.alloc(40)]), 'a.docx'],
    ['text with NUL', 'a\0b', 'a.txt'],
    ['text that is not UTF-8', Buffer.from([0x61, 0xe4, 0x62]), 'a.txt'],
    ['a picture', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), 'a.txt'],
    ['a program', 'export {};', 'a.ts'],
    ['what calls itself a page', 'Hello', 'a.html'],
    ['a comment without end', `<!--${'-'.repeat(1_000)}`, 'a.html'],
  ])('of %s is none', (_, bytes, name) => {
    expect(fileTypeOf(Buffer.from(bytes), name)).toBeUndefined();
  });

  it('of a zip whose first names are long and not UTF-8 is by the others, and none of them is decoded', () => {
    const cases: [string[], 'docx' | undefined][] = [
      [['[Content_Types].xml', 'word/document.xml'], 'docx'],
      [['word/document.xml', '[Content_Types].xml'], 'docx'],
      [['[Content_Types].xml', 'xl/workbook.xml'], undefined],
      [[], undefined],
    ];
    const archives = cases.map(([names]) => zipAfterInvalidNames(names));
    // Decoding 20 MiB of them takes 150 ms.
    const decode = jest.spyOn(Buffer.prototype, 'toString');
    try {
      const types = archives.map((archive) => fileTypeOf(archive, 'a.docx'));
      expect([types, decode.mock.calls.length]).toEqual([cases.map(([, type]) => type), 0]);
    } finally {
      decode.mockRestore();
    }
  });

  it('is told of 20 MiB of comments, and of a zip that lists itself, in no time', () => {
    const began = process.cpuUsage();
    expect(fileTypeOf(Buffer.from('<!---->'.repeat(3_000_000)), 'a.html')).toBeUndefined();
    const endless = Buffer.alloc(20 * 1_048_576, Buffer.from([0x50, 0x4b, 0x01, 0x02, 0, 0]));
    docx.copy(endless, 0, 0, 4);
    expect(fileTypeOf(endless, 'a.docx')).toBeUndefined();
    // As many entries as fit, none of them a Word document's, and an end record that points to the first.
    const entries = Buffer.alloc(20 * 1_048_576, Buffer.concat([Buffer.from([0x50, 0x4b, 1, 2]), Buffer.alloc(42)]));
    docx.copy(entries, 0, 0, 4);
    docx.copy(entries, entries.length - 22, docx.length - 22);
    entries.writeUInt32LE(46, entries.length - 6);
    expect(fileTypeOf(entries, 'a.docx')).toBeUndefined();
    // CPU time, since other processes may slow this one down.
    expect(process.cpuUsage(began).user / 1_000).toBeLessThan(2_000);
  });
});
