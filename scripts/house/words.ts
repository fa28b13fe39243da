import type { Node } from '../syntax.ts';
import { namesGivenIn } from './names.ts';
import type { Exception } from './ratchet.ts';
import type { Source } from './source.ts';
import { type Part, vocabulary, type Word } from './vocabulary.ts';

/** A place of a word that we do not use. */
export interface Hit {
  file: string;
  line: number;
  word: Word;
}

/** A text to look through. `line` is that of its first line, from 1. */
interface Text {
  part: Part;
  line: number;
  text: string;
}

/** Says what the words are that we do not use. */
const itself = /^scripts\/house\/(?:vocabulary|words\.test)\.ts$/;

/** Returns the words of a file of code that we do not use. A name counts where it is given, once in a file. */
export function wordsOf({ file, isTest, syntax }: Source): Hit[] {
  if (itself.test(file)) return [];
  const names = new Map(namesGivenIn(syntax).map(({ name, line }) => [name, line]));
  return hitsIn(file, [
    { part: 'paths', line: 1, text: file },
    ...[...names].map(([name, line]): Text => ({ part: 'names', line, text: split(name) })),
    // The sentences of a test are its titles and what it plays, which no user reads.
    ...(isTest ? [] : syntax.nodes.flatMap(messageOf)),
    ...syntax.comments.map(({ text, line }): Text => ({ part: 'comments', line, text })),
  ]);
}

/** Returns the words of a document that we do not use, what stands in blocks of code left out. */
export function wordsOfDocument(file: string, text: string): Hit[] {
  let isCode = false;
  const lines = text.split('\n').map((line, index): Text => {
    const isFence = line.trimStart().startsWith('```');
    if (isFence) isCode = !isCode;
    return { part: 'docs', line: index + 1, text: isCode || isFence ? '' : line.replaceAll(/`[^`]*`/g, '') };
  });
  return hitsIn(file, lines);
}

/** Returns the number of such words by file. */
export function wordExceptionsOf(hits: Hit[]): Exception[] {
  return [...Map.groupBy(hits, ({ file }) => file)].map(([file, each]) => {
    const told = each.map(({ line, word }) => `line ${line} ${word.word}`).join(', ');
    const instead = [...new Set(each.map(({ word }) => `${word.word}: ${word.instead}`))].join('; ');
    const sentence = `has ${each.length} words that we do not use (${told}); write instead ${instead}`;
    return { name: file, number: each.length, where: `${file}:${each[0]!.line}`, sentence };
  });
}

function split(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .trim()
    .toLowerCase();
}

function messageOf({ type, value, loc }: Node): Text[] {
  const isTemplate = type === 'TemplateElement';
  if (!isTemplate && type !== 'StringLiteral') return [];
  const text = isTemplate ? (value as { raw: string }).raw : (value as string);
  return text.includes(' ') ? [{ part: 'messages', line: loc.start.line, text }] : [];
}

function hitsIn(file: string, texts: Text[]): Hit[] {
  const words = vocabulary.filter(({ files }) => files?.test(file) ?? true);
  return texts.flatMap(({ part, line, text }) => {
    const lower = text.toLowerCase();
    return words
      .filter(({ parts }) => parts.includes(part))
      .flatMap((word) =>
        [...lower.matchAll(word.pattern)].map(({ index }) => {
          return { file, line: line + lower.slice(0, index).split('\n').length - 1, word };
        }),
      );
  });
}
