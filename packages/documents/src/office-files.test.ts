import { pdfOf, zipOf } from '@customer-platform/testkit/documents';
import { describe, expect, it } from '@jest/globals';
import { readDocx } from './docx.ts';
import { readPdf } from './pdf.ts';

const helvetica = '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>';
const latin = helvetica.replace(' >>', ' /Encoding /WinAnsiEncoding >>');
/** Returns a font of a document that embeds neither the font nor its character map. */
const cjk = (
  ordering: string,
  map: string,
) => `<< /Type /Font /Subtype /Type0 /BaseFont /F /Encoding /${map} /DescendantFonts
  [<< /Type /Font /Subtype /CIDFontType0 /BaseFont /F /CIDSystemInfo << /Registry (Adobe) /Ordering (${ordering}) /Supplement 2 >>
  /FontDescriptor << /Type /FontDescriptor /FontName /F /Flags 4 /ItalicAngle 0 /Ascent 800 /Descent 0 /StemV 80 >> >>] >>`;
const hebrew = helvetica.replace(
  ' >>',
  ' /Encoding << /Differences [65 /finalmemhebrew /vavhebrew /lamedhebrew /shinhebrew] >> >>',
);

/** Returns the text of a one-page PDF drawn by `content`. */
async function pdfText(font: string, content: string): Promise<string> {
  const pdf = pdfOf([`) Tj ET ${content} BT /F1 1 Tf (`])
    .toString('latin1')
    .replace(helvetica, font);
  const pieces = await readPdf(new Uint8Array(Buffer.from(pdf, 'latin1')));
  expect(pieces.map(({ heading_path }) => heading_path)).toEqual([['Page 1']]);
  return pieces[0]!.text;
}

const lines = (x: number, texts: readonly string[]) =>
  `BT /F1 12 Tf ${x} 700 Td 14 TL ${texts.map((text) => `(${text}) Tj T*`).join(' ')} ET`;
const hex = (text: string) => Buffer.from(text, 'utf16le').swap16().toString('hex');

describe('a PDF is read with', () => {
  it.each([
    [['Unsere \xd6ff-', 'nungszeiten.'], 'Unsere Öffnungszeiten.'],
    [['Schreiben Sie per E-', 'Mail an uns.'], 'Schreiben Sie per E-Mail an uns.'],
    [['Geld zur\xfcck, Modell A-', '12 auch.'], 'Geld zurück, Modell A-12 auch.'],
    [['Die Vor-', 'und Nachteile'], 'Die Vor-\nund Nachteile'],
    [['Opening -', 'closing'], 'Opening -\nclosing'],
  ])('words that are hyphenated at a line end joined: %j', async (texts, text) => {
    expect(await pdfText(latin, lines(50, texts))).toBe(text);
  });

  it('two columns one after the other, and rotated text', async () => {
    const columns = lines(50, ['Left one', 'left two.']) + lines(320, ['Right one', 'right two.']);
    expect(await pdfText(latin, columns)).toBe('Left one\nleft two.\n\nRight one\nright two.');
    expect(await pdfText(latin, 'BT /F1 12 Tf 0 1 -1 0 300 300 Tm (Turned by a quarter) Tj ET')).toBe(
      'Turned by a quarter',
    );
  });

  it('ligatures as their letters, and right-to-left text in reading order', async () => {
    const ligatures = helvetica.replace(' >>', ' /Encoding << /Differences [65 /fi /fl] >> >>');
    expect(await pdfText(ligatures, lines(50, ['ofAce Bower']))).toBe('ofﬁce ﬂower'.normalize('NFKC'));
    expect(await pdfText(hebrew, lines(50, ['ABCD']))).toBe('שלום');
  });

  it.each([
    ['Japan1', 'UniJIS-UTF16-H', hex('毎日営業しています'), '毎日営業しています'],
    ['Japan1', '90ms-RKSJ-H', '968893fa', '毎日'],
    ['GB1', 'UniGB-UCS2-H', hex('我们每天营业'), '我们每天营业'],
    ['CNS1', 'UniCNS-UTF16-H', hex('我們每天營業'), '我們每天營業'],
    ['Korea1', 'KSCms-UHC-H', 'b8c5c0cf', '매일'],
  ])('the text of a font of %s with the character map %s', async (ordering, map, bytes, text) => {
    expect(await pdfText(cjk(ordering, map), `BT /F1 12 Tf 50 700 Td <${bytes}> Tj ET`)).toBe(text);
  });
});

const office = 'http://schemas.openxmlformats.org';
const namespaces = `xmlns:w="${office}/wordprocessingml/2006/main" xmlns:v="urn:schemas-microsoft-com:vml"
  xmlns:mc="${office}/markup-compatibility/2006"`;
const paragraph = (text: string) => `<w:p><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;
const part = (name: string, xml: string) => ({
  content: `<?xml version="1.0"?><w:${name} ${namespaces}>${xml}</w:${name}>`,
});
const relations = (...ofParts: [type: string, target: string][]) => ({
  content: `<Relationships xmlns="${office}/package/2006/relationships">${ofParts
    .map(
      ([type, target]) =>
        `<Relationship Id="${type}" Type="${office}/officeDocument/2006/relationships/${type}" Target="${target}"/>`,
    )
    .join('')}</Relationships>`,
});

it('a Word document is read with its headers, footers, tables, text boxes, controls and footnotes', async () => {
  const box = `<w:txbxContent>${paragraph('กล่องข้อความ')}</w:txbxContent>`;
  const table = `<w:tbl><w:tr><w:tc>${paragraph('Größe')}</w:tc><w:tc>${paragraph('价格')}</w:tc></w:tr></w:tbl>`;
  const docx = zipOf({
    '[Content_Types].xml': {
      content: `<Types xmlns="${office}/package/2006/content-types"><Override PartName="/word/document.xml"
        ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`,
    },
    '_rels/.rels': relations(['officeDocument', 'word/document.xml']),
    'word/_rels/document.xml.rels': relations(['footnotes', 'footnotes.xml'], ['header', 'header1.xml']),
    'word/header1.xml': part('hdr', paragraph('Tea &amp; Co')),
    'word/header2.xml': part('hdr', paragraph('Tea &amp; Co')),
    'word/footer1.xml': part(
      'ftr',
      '<w:p><w:r><w:t>Seite</w:t><w:tab/><w:t>1</w:t></w:r><w:r><w:instrText>PAGE</w:instrText></w:r></w:p>',
    ),
    'word/footnotes.xml': part('footnotes', `<w:footnote w:id="2">${paragraph('ملاحظة')}</w:footnote>`),
    'word/document.xml': part(
      'document',
      `<w:body><w:p><w:r><w:t>营业时间</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r></w:p>${table}
        <w:p><w:r><mc:AlternateContent><mc:Choice Requires="wps"/><mc:Fallback><w:pict><v:shape><v:textbox>${box}</v:textbox>
        </v:shape></w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>
        <w:sdt><w:sdtContent>${paragraph('Giờ mở cửa')}</w:sdtContent></w:sdt></w:body>`,
    ),
  });
  expect(await readDocx(docx)).toEqual([
    {
      heading_path: [],
      text: 'Tea & Co\n\nSeite 1\n\n营业时间[1]\n\nGröße | 价格\n\nกล่องข้อความ\n\nGiờ mở cửa\n\nملاحظة',
    },
  ]);
});
