import mammoth from 'mammoth';
import { readConverted } from './html.ts';
import { type Piece, Unreadable } from './pieces.ts';
import { BoundedZip } from './zip.ts';

/** Maximum unpacked size, in bytes, of all text parts of a document. */
const maxUnpackedBytes = 64 * 1_048_576;

/** Headers and footers, which Mammoth omits. */
const marginPart = /^word\/(?:header|footer)\d*\.xml$/;
const backLink = / <a href="#(?:foot|end)note-ref-[^"]*">↑<\/a>/g;

/** Splits a Word document by its headings. Text from headers and footers comes first. Pictures are not unpacked. Throws Unreadable. */
export async function readDocx(bytes: Buffer): Promise<Piece[]> {
  const isWanted = (name: string) => /\.(?:xml|rels)$/i.test(name);
  const zip = new BoundedZip(bytes, { maxBytes: maxUnpackedBytes, isWanted });
  const file = {
    exists: (name: string) => zip.has(name),
    read: async (name: string, encoding?: string) => {
      const part = zip.read(name);
      return encoding ? part.toString(encoding as BufferEncoding) : part;
    },
  };
  const noPictures = mammoth.images.imgElement(async () => ({ src: '' }));
  const { value } = await mammoth
    // Mammoth accepts an open archive as `file`, but its types do not declare that.
    .convertToHtml({ file } as never, { convertImage: noPictures, includeEmbeddedStyleMap: false })
    .catch((cause: unknown) => {
      if (cause instanceof Unreadable) throw cause;
      throw new Unreadable('It is not a readable Word document; it may be damaged', { cause });
    });
  const margins = zip.names.filter((name) => marginPart.test(name)).flatMap((name) => paragraphsOf(zip.read(name)));
  const before = [...new Set(margins)].map((text) => `<p>${text}</p>`).join('');
  return readConverted(before + value.replace(backLink, ''));
}

/** Returns the text of each paragraph of a header or footer, still escaped as XML. */
function paragraphsOf(part: Buffer): string[] {
  return part
    .toString()
    .split('</w:p>')
    .map((xml) =>
      Array.from(xml.matchAll(/<w:(?:t(?:\s[^<>]*)?>([^<]*)|tab\/|br\/)/g), ([, text = ' ']) => text).join(''),
    );
}
