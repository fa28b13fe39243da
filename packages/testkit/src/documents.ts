import { crc32, deflateRawSync } from 'node:zlib';

/** Returns a PDF with one line of text per page. Identical pages share one content stream. */
export function pdfOf(pages: readonly string[]): Buffer {
  const parts: string[] = ['%PDF-1.4\n'];
  const offsets: number[] = [];
  let length = parts[0]!.length;
  const add = (text: string) => {
    offsets.push(length);
    const object = `${offsets.length} 0 obj\n${text}\nendobj\n`;
    parts.push(object);
    length += object.length;
  };
  const first = 4;
  const contents = [...new Set(pages)];
  const contentOf = new Map(contents.map((text, index) => [text, first + pages.length + index]));
  add('<< /Type /Catalog /Pages 2 0 R >>');
  const kids = pages.map((_, index) => `${first + index} 0 R`).join(' ');
  add(`<< /Type /Pages /Count ${pages.length} /Kids [${kids}] >>`);
  add('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>');
  for (const text of pages) {
    const resources = '<< /Font << /F1 3 0 R >> >>';
    add(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Resources ${resources} /Contents ${contentOf.get(text)} 0 R >>`,
    );
  }
  for (const text of contents) {
    const stream = `BT /F1 12 Tf 50 700 Td (${text}) Tj ET`;
    add(`<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`);
  }
  const xref = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  parts.push(
    `xref\n0 ${offsets.length + 1}\n0000000000 65535 f \n${xref}trailer\n<< /Size ${offsets.length + 1} /Root 1 0 R >>\nstartxref\n${length}\n%%EOF\n`,
  );
  return Buffer.from(parts.join(''), 'latin1');
}

/** Returns a zip archive. `said` replaces the stated size of a file. */
export function zipOf(files: Record<string, { content: string | Buffer; said?: number }>, comment = ''): Buffer {
  const local: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, { content, said }] of Object.entries(files)) {
    const bytes = Buffer.from(content as string);
    const packed = deflateRawSync(bytes);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(said ?? bytes.length, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const begin = Buffer.from([0x50, 0x4b, 3, 4]);
    local.push(begin, common, Buffer.from(name), packed);
    const entry = Buffer.alloc(46);
    entry.set([0x50, 0x4b, 1, 2], 0);
    common.copy(entry, 6);
    entry.writeUInt32LE(offset, 42);
    directory.push(entry, Buffer.from(name));
    offset += 30 + Buffer.byteLength(name) + packed.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.set([0x50, 0x4b, 5, 6], 0);
  end.writeUInt16LE(Object.keys(files).length, 8);
  end.writeUInt16LE(Object.keys(files).length, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(offset, 16);
  end.writeUInt16LE(Buffer.byteLength(comment), 20);
  return Buffer.concat([...local, listed, end, Buffer.from(comment)]);
}

const wordNamespace = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';
const packageNamespace = 'http://schemas.openxmlformats.org/package/2006';
const officeDocument = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument';

/** Returns a Word document. Paragraphs with a `level` are headings. `said` replaces the stated size of the text. */
export function docxOf(paragraphs: readonly { text: string; level?: number }[], said?: number): Buffer {
  const body = paragraphs
    .map(({ text, level }) => {
      const style = level ? `<w:pPr><w:pStyle w:val="Heading${level}"/></w:pPr>` : '';
      return `<w:p>${style}<w:r><w:t>${text}</w:t></w:r></w:p>`;
    })
    .join('');
  const document = `<?xml version="1.0"?><w:document xmlns:w="${wordNamespace}"><w:body>${body}</w:body></w:document>`;
  const main = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml';
  const styles = [1, 2, 3].map((level) => {
    return `<w:style w:type="paragraph" w:styleId="Heading${level}"><w:name w:val="heading ${level}"/></w:style>`;
  });
  return zipOf({
    '[Content_Types].xml': {
      content: `<Types xmlns="${packageNamespace}/content-types"><Override PartName="/word/document.xml" ContentType="${main}"/></Types>`,
    },
    '_rels/.rels': {
      content: `<Relationships xmlns="${packageNamespace}/relationships"><Relationship Id="r1" Type="${officeDocument}" Target="word/document.xml"/></Relationships>`,
    },
    'word/styles.xml': { content: `<w:styles xmlns:w="${wordNamespace}">${styles.join('')}</w:styles>` },
    'word/document.xml': { content: document, ...(said === undefined ? {} : { said }) },
  });
}
