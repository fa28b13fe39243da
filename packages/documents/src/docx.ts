import mammoth from 'mammoth';
import { readConverted } from './html.ts';
import { type Piece, Unreadable } from './pieces.ts';
import { BoundedZip } from './zip.ts';

/** Maximum unpacked size of all parts of a document that hold text. */
const maxUnpackedBytes = 64 * 1_048_576;

/** Splits a Word document by its headings. Its pictures are not unpacked. Throws Unreadable. */
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
    // Mammoth takes an open archive as `file`; its types do not declare that.
    .convertToHtml({ file } as never, { convertImage: noPictures, includeEmbeddedStyleMap: false })
    .catch((cause: unknown) => {
      if (cause instanceof Unreadable) throw cause;
      throw new Unreadable('It is not a readable Word document; it may be damaged', { cause });
    });
  return readConverted(value);
}
