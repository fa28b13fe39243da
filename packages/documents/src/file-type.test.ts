import { zipOf } from '@customer-platform/testkit/documents';
import { describe, expect, it } from '@jest/globals';
import { fileTypeOf } from './file-type.ts';

const emptyZip = (names: string[], comment?: string) =>
  zipOf(Object.fromEntries(names.map((name) => [name, { content: '' }])), comment);
const docx = emptyZip(['[Content_Types].xml', 'word/document.xml']);

/** Returns a 20 MiB zip full of entries, none of them a Word document's. Its end record points to the first entry. */
function endlessZip(): Buffer {
  const zip = Buffer.alloc(20 * 1_048_576, Buffer.concat([Buffer.from([0x50, 0x4b, 1, 2]), Buffer.alloc(42)]));
  docx.copy(zip, 0, 0, 4);
  docx.copy(zip, zip.length - 22, docx.length - 22);
  zip.writeUInt32LE(46, zip.length - 6);
  return zip;
}

describe('the type of a file', () => {
  it.each<[string, string | Buffer, string]>([
    ['pdf', '%PDF-1.7\n', 'notes.txt'],
    ['docx', docx, 'letter.pdf'],
    ['docx', emptyZip(['word/document.xml', '[Content_Types].xml'], 'a comment'), ''],
    ['html', '<!DOCTYPE html><p>', 'page.txt'],
    ['html', '\ufeff \n<!-- a -->\n<?xml version="1.0"?><!--b--><HTML lang="de">', 'page'],
    ['pdf', `mail header\n${'x'.repeat(990)}%PDF-1.4\n`, 'a.pdf'],
    ['txt', 'A PDF begins with %PDF-1.4', 'a.txt'],
    ['html', Buffer.from('\ufeff<!doctype html><p>हिन्दी', 'utf16le'), 'page'],
    ['html', Buffer.from('<!doctype html><p>Türkçe', 'utf16le').swap16(), 'page.html'],
    ['html', Buffer.concat([Buffer.from('<title>'), Buffer.from('8140', 'hex')]), 'page.html'],
    ['html', ' \n<!-- a --><p>', 'page.html'],
    ['html', '<section><h2>A</h2></section>', 'page.HTM'],
    ['md', '<div align="center">\n\n# Hello', 'README.md'],
    ['md', '<!-- a -->\n# Hello', 'a.markdown'],
    ['html', '<!-- a -->\n<html>', 'a.md'],
    ['csv', '<a>,<b>\n1,2', 'a.csv'],
    ['txt', '<article>', 'a.txt'],
    ['txt', '<bold move', 'a.txt'],
    ['txt', 'Hello', 'hello.txt'],
    ['txt', 'Hello', 'README'],
    ['txt', '\ufeffHallo, schöne Welt 😀', 'HELLO.TXT'],
    ['txt', 'One <html> in a text', 'a.txt'],
    ['md', '# Hello', 'hello.md'],
    ['md', '# Hello', 'hello.Markdown'],
    ['csv', 'a,b\n1,2', 'table.csv'],
    ['csv', Buffer.from('Größe;Preis\r\nS;3 €', 'latin1'), 'excel.csv'],
    ['csv', Buffer.from('\ufeff尺寸\t价格', 'utf16le'), 'excel.csv'],
    ['md', Buffer.from('# ราคา 5', 'utf16le'), 'a.md'],
    ['txt', Buffer.from([0x61, 0xe4, 0x62]), 'a.txt'],
  ])('is %s by its content, and for plain text by its name: case %#', (type, bytes, name) => {
    expect(fileTypeOf(Buffer.from(bytes as string), name)).toBe(type);
  });

  const tags = '!DOCTYPE HTML,html,Head,SCRIPT,iframe,h1,div,font,table,a,style,title,b,body,br,p,!--'.split(',');
  it.each(tags)('is html if it begins with <%s and a space or >', (tag) => {
    for (const end of [' ', '>']) expect(fileTypeOf(Buffer.from(`\t\r\n <${tag}${end}x`), 'a.txt')).toBe('html');
    expect(fileTypeOf(Buffer.from(`<${tag}x`), 'a.txt')).toBe('txt');
  });

  it.each([
    ['a zip', emptyZip(['a.txt']), 'a.docx'],
    ['a spreadsheet', emptyZip(['[Content_Types].xml', 'xl/workbook.xml']), 'a.docx'],
    [
      'a zip with more files than the limit',
      emptyZip([...Array(5_000).keys(), '[Content_Types].xml', 'word/a.xml'].map(String)),
      'a.docx',
    ],
    ['a broken zip', docx.subarray(0, -8), 'a.docx'],
    ['a zip that lists nothing', Buffer.concat([docx.subarray(0, 4), Buffer.alloc(40)]), 'a.docx'],
    ['text with NUL', 'a\0b', 'a.txt'],
    ['text with NUL in pairs', 'Hello\0World!', 'a.txt'],
    ['text in UTF-32', Buffer.from([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0]), 'a.txt'],
    ['text in Shift_JIS', Buffer.from('968893fa8140', 'hex'), 'a.txt'],
    ['an executable', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0]), 'a.txt'],
    ['a picture', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), 'a.txt'],
    ['a program', 'export {};', 'a.ts'],
    ['text in a file named as a page', 'Hello', 'a.html'],
    ['an unclosed comment', `<!--${'-'.repeat(1_000)}`, 'a.html'],
    ['20 MiB of comments', '<!---->'.repeat(3_000_000), 'a.html'],
    ['a zip that lists half a million files', endlessZip(), 'a.docx'],
  ])('of %s is undefined', (_, bytes, name) => {
    expect(fileTypeOf(Buffer.from(bytes), name)).toBeUndefined();
  });
});
