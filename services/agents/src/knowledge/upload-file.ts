import { createHash } from 'node:crypto';
import * as contract from '@customer-platform/contracts/agents';
import { ApiError, firstCodePoints } from '@customer-platform/contracts/core';
import { fileTypeOf } from '@customer-platform/documents';
import { limitReached } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { collectionOf } from './collection.ts';
import { asTitle, toSource } from './source.ts';
import { countFileParts, insertFile, insertSource, selectSource, titleOfFile } from './sources.sql.ts';

/** Maximum length in code points of a title taken from the file's name. */
const titleLength = 200;

/** Maximum parts of an account's files, each at most 1 MiB. Parts are stored as long as their sources exist. */
const maxParts = 4_096;

export const uploadFile = implement(contract.uploadFile, {
  async handle({ account, tx, body, now, fail }) {
    const { file, title, active } = body;
    if (file.size > contract.maxFileBytes) {
      limitReached('body_size');
      throw refusedFile('must be at most 20 MiB', 413);
    }
    if (file.size === 0) throw refusedFile('must not be empty');
    const { buffer, byteOffset, byteLength } = await file.bytes();
    const bytes = Buffer.from(buffer, byteOffset, byteLength);
    const name = nameOf(file);
    const type = fileTypeOf(bytes, name);
    if (type === undefined) {
      throw refusedFile(
        'must be a pdf, docx or html file, or plain text in UTF-8, UTF-16 or windows-1252 whose name ends in .txt, .md or .csv',
      );
    }
    const { id: collection_id } = await collectionOf(tx, account.id, body.collection);
    const source = {
      kind: 'file' as const,
      title: title === undefined ? firstCodePoints(name, titleLength) || 'File' : asTitle(title),
      collection_id,
      active,
      file_type: type,
      size_bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest(),
    };
    const id = await insertSource(tx, account.id, source, now);
    if (id === undefined) {
      const known = await titleOfFile(tx, account.id, source.sha256);
      throw refusedFile(`must be new; this file was already uploaded as ${known ?? source.title}`);
    }
    await insertFile(tx, account.id, id, bytes);
    if ((await countFileParts(tx, account.id)) > maxParts)
      return fail(
        'invalid_state',
        `An account's files may take at most ${maxParts} MiB, each rounded up to whole MiB; delete one first`,
      );
    return toSource((await selectSource(tx, account.id, id))!, account.timezone);
  },
  committed: ({ sourceReader }) => sourceReader.wake(),
});

function refusedFile(rule: string, status = 400): ApiError {
  return new ApiError('invalid_request', `file ${rule}`, { field: 'file', status });
}

/** Returns the file's name without directories and characters that cannot be stored. Composes it (NFC), since macOS decomposes names. */
function nameOf(file: File): string {
  const name = file.name.split(/[/\\]/).at(-1)!;
  return name.toWellFormed().replaceAll('\0', '').normalize().trim();
}
