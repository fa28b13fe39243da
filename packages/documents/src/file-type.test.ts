import { zipOf } from '@customer-platform/testkit/documents';
import { describe, expect, it } from '@jest/globals';
import { fileTypeOf } from './file-type.ts';

const emptyZip = (names: string[], comment?: string) =>
  zipOf(Object.fromEntries(names.map((name) => [name, { content: '' }])), comment);
const docx = emptyZip(['[Content_Types].xml', 'word/document.xml']);

/** Returns a zip of 20 MiB with as many entries as fit, none of them a Word document's, and an end record that points to the first. */
function endlessZip(): Buffer {
  const zip = Buffer.alloc(20 * 1_048_576, Buffer.concat([Buffer.from([0x50, 0x4b, 1, 2]), Buffer.alloc(42)]));
  docx.copy(zip, 0, 0, 4);
  docx.copy(zip, zip.length - 22, docx.length - 22);
  zip.writeUInt32LE(46, zip.length - 6);
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
    ['20 MiB of comments', '<!---->'.repeat(3_000_000), 'a.html'],
    ['a zip that lists half a million files', endlessZip(), 'a.docx'],
  ])('of %s is none', (_, bytes, name) => {
    expect(fileTypeOf(Buffer.from(bytes), name)).toBeUndefined();
  });
});
