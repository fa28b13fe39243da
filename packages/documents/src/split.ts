import { type Piece, PieceBuilder } from './pieces.ts';

/**
 * Splits Markdown into pieces by its headings, `# …` and underlined ones; code fences have none. The text stays as it is written. Takes
 * linear time for any text. Throws Unreadable beyond the limits.
 */
export function splitMarkdown(markdown: string): Piece[] {
  const builder = new PieceBuilder();
  let paragraph: string[] = [];
  const endParagraph = () => {
    builder.block(paragraph.join('\n'));
    paragraph = [];
  };
  let fence: string | undefined;
  for (const line of markdown.replace(/^\ufeff/, '').split(/\r\n|\r|\n/)) {
    if (fence !== undefined) {
      paragraph.push(line);
      if (closesFence(line, fence)) {
        fence = undefined;
        endParagraph();
      }
      continue;
    }
    // Backticks with others behind them in their line are code within a text, not a fence.
    const opened = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/.exec(line)?.[1];
    const heading = atxHeading(line);
    if (opened !== undefined) {
      endParagraph();
      fence = opened;
      paragraph.push(line);
    } else if (heading) {
      endParagraph();
      builder.heading(heading.level, heading.text);
    } else if (line.trim() === '') {
      endParagraph();
    } else if (isUnderlined(paragraph, line)) {
      builder.heading(line.trimStart().startsWith('=') ? 1 : 2, paragraph.join(' '));
      paragraph = [];
    } else {
      paragraph.push(line);
    }
  }
  endParagraph();
  return builder.finish();
}

/** Splits plain text at blank lines. Throws Unreadable beyond the limits. */
export function splitText(text: string): Piece[] {
  const builder = new PieceBuilder();
  for (const paragraph of text.replace(/^\ufeff/, '').split(/(?:\r\n|\r|\n)[ \t]*(?:\r\n|\r|\n)/))
    builder.block(paragraph);
  return builder.finish();
}

function atxHeading(line: string): { level: number; text: string } | undefined {
  const match = /^ {0,3}(#{1,6})(?=[ \t]|$)/.exec(line);
  if (!match) return undefined;
  const text = line.slice(match[0].length).trim();
  // Marks at the end after a space are closing marks, not text.
  let end = text.length;
  while (text[end - 1] === '#') end--;
  const isClosed = end < text.length && (end === 0 || /\s/.test(text[end - 1]!));
  return { level: match[1]!.length, text: isClosed ? text.slice(0, end).trim() : text };
}

function closesFence(line: string, fence: string): boolean {
  const text = line.trim();
  return text.length >= fence.length && text === fence[0]!.repeat(text.length) && /^ {0,3}\S/.test(line);
}

const longestUnderlined = 200;

/** Returns whether a line of = or - makes the lines before it a heading: no list, quote, table or long paragraph. */
function isUnderlined(paragraph: string[], line: string): boolean {
  const mark = line.trim();
  if (paragraph.length === 0 || paragraph.length > 3 || !/^ {0,3}[=-]/.test(line)) return false;
  if (mark !== mark[0]!.repeat(mark.length)) return false;
  const isText = paragraph.every((text) => !/^\s*(?:[-*+>|]|\d{1,9}[.)])(?:\s|$)/.test(text) && !/^\s*\|/.test(text));
  return isText && paragraph.join(' ').length <= longestUnderlined;
}
