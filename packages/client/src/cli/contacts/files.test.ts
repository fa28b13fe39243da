import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { fromCell, tagsOfCell, tagsText, toCell } from './cells.ts';
import { csvLine, csvRows, separatorOf } from './csv.ts';
import { contactOf, mappingOf } from './mapping.ts';
import { openRows, type Row } from './rows.ts';

const folder = mkdtempSync(join(tmpdir(), 'client-files-'));
afterAll(() => rmSync(folder, { recursive: true }));

let count = 0;
function fileOf(content: string | Uint8Array, extension = 'csv'): string {
  const path = join(folder, `people-${count++}.${extension}`);
  writeFileSync(path, content);
  return path;
}

async function rowsOf(path: string): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const row of (await openRows(path)).rows()) rows.push(row);
  return rows;
}

async function* pieces(text: string, length: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += length) yield text.slice(at, at + length);
}

describe('CSV', () => {
  it('is parsed by RFC 4180, in chunks of any length', async () => {
    const text = 'a,"b ""c"", d",\r\n"x\r\ny",,"z"\rmid"dle," spaced ","end"tail\n\n,,\nlast,1,""';
    const rows = [
      { line: 1, cells: ['a', 'b "c", d', ''] },
      { line: 2, cells: ['x\r\ny', '', 'z'] },
      { line: 4, cells: ['mid"dle', ' spaced ', 'endtail'] },
      { line: 7, cells: ['last', '1', ''] },
    ];
    for (let length = 1; length <= text.length; length++) {
      const read = [];
      for await (const row of csvRows(pieces(text, length), { separator: ',' })) read.push(row);
      expect([length, read]).toEqual([length, rows]);
    }
  });

  it('has its separator detected by rows of equal length outside quotes, or set by sep=', () => {
    expect(separatorOf('"a,b,c,d";e\n"1,2,3,4";5\n').separator).toBe(';');
    expect(separatorOf('name;note\nAda;a, b, c\nBen;d, e, f\n').separator).toBe(';');
    expect(separatorOf('a, b, c | d\n1 | 2\n').separator).toBe('|');
    expect(separatorOf('a\tb\n1,5\t2\n').separator).toBe('\t');
    expect(separatorOf('name\nAda\n').separator).toBe(',');
    expect(separatorOf('sep=^\r\na^b')).toEqual({ separator: '^', preamble: 'sep=^\r\n' });
    expect(separatorOf('a,"b').separator).toBe(',');
  });

  it('is written so that it parses to the same cells', async () => {
    const cells = ['plain', 'a,b', 'say "hi"', 'two\nlines', '', ' spaced ', 'semi;colon'];
    for (const separator of [',', ';', '\t']) {
      for await (const row of csvRows(pieces(`${csvLine(cells, separator)}\r\n`, 5), { separator })) {
        expect(row.cells).toEqual(cells);
      }
    }
  });

  it('with an unclosed quote is refused with the line number, also if it is very long', async () => {
    await expect(openRows(fileOf('name\nAda\n"Ben\nZoë\n'))).rejects.toThrow(
      'line 3 opens a quote that is never closed',
    );
    const endless = fileOf(`name\n"${'x'.repeat(3_000_000)}`);
    await expect(openRows(endless)).rejects.toThrow(/The row in line 2 has more than 1048576 characters/);
  });
});

describe('a file', () => {
  const text = 'sep=;\r\nName;City\r\nZoë;"Kö;ln"\r\n';
  const utf16 = (mark: string) => Buffer.from(mark + text, 'utf16le');
  it.each([
    ['utf-8', Buffer.from(text)],
    ['utf-8', Buffer.from(`\ufeff${text}`)],
    ['utf-16le', utf16('\ufeff')],
    ['utf-16le', utf16('')],
    ['utf-16be', utf16('\ufeff').swap16()],
    ['utf-16be', utf16('').swap16()],
    ['windows-1252', Buffer.from(text, 'latin1')],
  ])('in %s is read', async (encoding, bytes) => {
    const file = await openRows(fileOf(bytes));
    expect([file.encoding, file.columns, file.rowCount]).toEqual([encoding, ['Name', 'City'], 1]);
    const rows = await rowsOf(file.path);
    expect(rows).toEqual([{ line: 3, values: { Name: 'Zoë', City: 'Kö;ln' }, cells: ['Zoë', 'Kö;ln'] }]);
  });

  it('in windows-1252 is decoded with the characters that Latin-1 lacks', async () => {
    const [row] = await rowsOf(fileOf(Buffer.from([0x61, 0x0a, 0x80, 0x93, 0xe9, 0x94, 0x0a])));
    expect(row!.values).toEqual({ a: '€“é”' });
  });

  it.each([
    ['bytes that no encoding has', Buffer.from([0x61, 0x0a, 0xff, 0x81, 0x0a])],
    ['a spreadsheet', Buffer.from('PK\u0003\u0004\u0014\u0000\u0006\u0000', 'latin1')],
    ['half a character at its end', Buffer.from([0xff, 0xfe, 0x61, 0x00, 0x62])],
    ['control characters', Buffer.from('a,b\n\u0001,2\n')],
  ])('of %s is refused', async (_what, bytes) => {
    await expect(openRows(fileOf(bytes))).rejects.toThrow(/is not text in UTF-8, UTF-16 or windows-1252/);
  });

  it('without rows, or that does not exist, is refused', async () => {
    await expect(openRows(fileOf(''))).rejects.toThrow('is empty');
    await expect(openRows(fileOf('name,email\n\n'))).rejects.toThrow('has no rows below its header');
    await expect(openRows(join(folder, 'none.csv'))).rejects.toThrow(
      'none.csv cannot be read: there is no such file or folder',
    );
  });

  it('of JSON Lines is parsed to objects, and refused with the line number of any other value', async () => {
    const rows = await rowsOf(fileOf('{"name":"Ada"}\n\n{"tags":["a"]}', 'jsonl'));
    expect(rows).toMatchObject([
      { line: 1, values: { name: 'Ada' } },
      { line: 3, values: { tags: ['a'] } },
    ]);
    await expect(openRows(fileOf('{"name":"Ada"}\n["Ben"]\n', 'ndjson'))).rejects.toThrow('line 2: must be a JSON obj');
  });

  it('has rows with more or fewer cells than the header refused, not shifted', async () => {
    const file = await openRows(fileOf('name,email\nAda,a@example.com\nBen,x,y\nZoë\n'));
    const mapping = mappingOf(file, { map: [], types: [], tags: [], clearsEmpty: false });
    const contacts = (await rowsOf(file.path)).map((row) => contactOf(mapping, row));
    expect(contacts).toEqual([
      { contact: { name: 'Ada', email: 'a@example.com' } },
      { fault: expect.stringContaining('line 3 has 3 cells, but the header has 2') },
      { fault: expect.stringContaining('line 4 has 1 cells, but the header has 2') },
    ]);
  });
});

describe('cells', () => {
  const texts = ['=1+1', '+cmd', '-x', '@sum', '\t=1', "'=1", "''-", "'quoted", 'Ada', '', "O'Neil"];

  it('that a spreadsheet would run are escaped, and read back unchanged', () => {
    for (const text of texts) expect([text, fromCell(toCell(text))]).toEqual([text, text]);
    for (const text of texts) expect(toCell(text)).not.toMatch(/^[=+\-@\t\r]/);
  });

  it('with numbers, including phone numbers, stay unchanged', () => {
    for (const text of ['+4930901820', '-1', '-1.5', '+1e-7', '2026-11-20']) expect(toCell(text)).toBe(text);
    expect(toCell('+49 30 901820')).toBe("'+49 30 901820");
  });

  it('of tags can contain any tag', () => {
    const tags = ['vip', 'a, b', 'c;d', 'say "hi"', ' spaced ', '"', '5" pipe', 'two\nlines'];
    expect(tagsOfCell(tagsText(tags))).toEqual(tags);
    expect(tagsText(['vip', 'new'])).toBe('vip,new');
    expect(tagsOfCell(' vip; new ,,"a;b"; x"y ')).toEqual(['vip', 'new', 'a;b', 'x"y']);
    expect(tagsOfCell('"open, end')).toEqual(['"open, end']);
  });
});

describe('a mapping', () => {
  const file = {
    path: 'people.csv',
    format: 'csv',
    columns: ['Name', 'E-Mail', 'Last, first', 'City', 'City'],
  } as const;
  const given = { map: [] as string[], types: [] as string[], tags: [] as string[], clearsEmpty: false };
  const mapped = (map: string[], more = {}) => mappingOf(file, { ...given, map, ...more });

  it('takes pairs separated by commas, and columns with commas in their names', () => {
    const { assignments, ignored } = mapped(['name=Last, first,email=E-Mail', 'fields.n=Name']);
    expect(assignments.map(({ field, column }) => `${field}=${column}`)).toEqual([
      'name=Last, first',
      'email=E-Mail',
      'fields.n=Name',
    ]);
    expect(ignored).toEqual(['City', 'City']);
  });

  it.each([
    [['name'], '--map must be field=column, such as name=Name, not "name"'],
    [['nme=Name'], '"nme" is not a field of a contact; the fields are external_id, name, phone, email, tags, and'],
    [['fields.=Name'], '"fields." is not a field of a contact'],
    [['name=Nme'], 'people.csv has no column "Nme"; its columns are "Name", "E-Mail", "Last, first", "City", "City"'],
    [['name=City'], 'people.csv has 2 columns "City"; rename one'],
    [['name=Name,name=E-Mail'], 'the field name is given twice'],
    [[], 'people.csv: "E-Mail", "Last, first", "City", "City" match no field of a contact'],
    [[], 'such as --map "name=Name,email=E-Mail,fields.last_first=Last, first,fields.city=City"'],
  ])('%j is refused with the reason', (map, reason) => {
    expect(() => mapped(map)).toThrow(reason);
  });

  it('has types of custom fields, which refuse invalid values', () => {
    const { contact, fault } = contactOf(
      mapped(['fields.n=Name'], { types: ['fields.n=number'] }),
      row('Name', '12.50'),
    );
    expect([contact, fault]).toEqual([{ fields: { n: 12.5 } }, undefined]);
    const read = (type: string, cell: string) =>
      contactOf(mapped(['fields.n=Name'], { types: [`fields.n=${type}`] }), row('Name', cell));
    expect(read('number', '12,5').fault).toBe('fields.n must be a number, such as 12.5, not "12,5"');
    expect(read('number', '1e999').fault).toContain('must be a number');
    expect(read('boolean', 'TRUE').contact).toEqual({ fields: { n: true } });
    expect(read('boolean', 'yes').fault).toBe('fields.n must be true or false, not "yes"');
    for (const type of ['name=number', 'fields.n=date', 'fields.n']) {
      expect(() => mapped(['fields.n=Name'], { types: [type] })).toThrow(
        '--type must be fields.<name>=text|number|boolean',
      );
    }
    expect(() => mapped(['fields.n=Name'], { types: ['fields.m=number'] })).toThrow('--type fields.m: this field');
  });

  it('without --map takes columns that are named like fields, in any case', () => {
    const { assignments } = mappingOf(
      { path: 'p.csv', format: 'csv', columns: ['Name', 'EMAIL', 'fields.City'] },
      given,
    );
    expect(assignments.map(({ field, column }) => [field, column])).toEqual([
      ['name', 'Name'],
      ['email', 'EMAIL'],
      ['fields.City', 'fields.City'],
    ]);
    const one = { path: 'p.csv', format: 'csv', columns: ['name', 'Mobile phone'] } as const;
    expect(() => mappingOf(one, given)).toThrow('"name=name,phone=Mobile phone"');
  });

  it('keeps the value of an empty cell, or clears it', () => {
    expect(contactOf(mapped(['name=Name', 'tags=E-Mail']), row('Name', '')).contact).toEqual({});
    const cleared = contactOf(mapped(['name=Name'], { clearsEmpty: true, tags: ['new'] }), row('Name', ''));
    expect(cleared.contact).toEqual({ name: null, tags: ['new'] });
  });

  it('of JSON Lines keeps values unchanged, and takes fields as an object', () => {
    const json = { path: 'people.jsonl', format: 'jsonl', columns: ['id', 'name', 'tags', 'fields'] } as const;
    const values = { id: 7, name: "'=1", tags: ['a,b'], fields: { points: 5, vip: true } };
    const line = { line: 1, values, cells: [] };
    const { contact } = contactOf(mappingOf(json, { ...given, tags: ['new'] }), line);
    expect(contact).toEqual({ name: "'=1", tags: ['a,b', 'new'], fields: { points: 5, vip: true } });
    const own = mappingOf(json, { ...given, map: ['external_id=id', 'fields.all=name'] });
    expect(contactOf(own, line).contact).toEqual({ external_id: '7', fields: { all: "'=1" } });
  });

  it.each(['1234567890123456789', '-9007199254740992', '12.50', '1e999'])(
    'refuses the number %s for a string field, since it would change',
    (number) => {
      const json = { path: 'people.jsonl', format: 'jsonl', columns: ['external_id'] } as const;
      const values = JSON.parse(`{"external_id":${number}}`) as Row['values'];
      const { fault } = contactOf(mappingOf(json, given), { line: 1, values, cells: [] });
      expect(fault).toBe('external_id must be a string: only whole numbers up to 9007199254740991 are read exactly');
    },
  );
});

function row(column: string, cell: string): Row {
  return { line: 2, values: { [column]: cell, 'E-Mail': '' }, cells: [cell] };
}
