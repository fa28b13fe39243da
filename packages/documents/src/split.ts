import { type Piece, PieceBuilder } from './pieces.ts';

/**
 * Splits Markdown into pieces by its headings, `# …` and underlined ones, except in code fences. It omits the front matter and leaves the
 * rest of the text unchanged. Takes linear time for any text. Throws Unreadable beyond the limits.
 */
export function splitMarkdown(markdown: string): Piece[] {
  const builder = new PieceBuilder();
  let paragraph: string[] = [];
  const endParagraph = () => {
    builder.block(paragraph.join('\n'));
    paragraph = [];
  };
  let fence: string | undefined;
  const lines = markdown.replace(/^\ufeff/, '').split(/\r\n|\r|\n/);
  for (const line of lines.slice(frontMatterOf(lines))) {
    if (fence !== undefined) {
      paragraph.push(line);
      if (closesFence(line, fence)) {
        fence = undefined;
        endParagraph();
      }
      continue;
    }
    // Backticks followed by more backticks on the same line are inline code, not a fence.
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

/** Key of a YAML mapping. */
const yamlKey = /^["']?[^\s:#-][^:]*:(?:\s|$)/;
/** Other YAML lines: indented ones, comments, list items and closing brackets. */
const otherYaml = /^(?:$|[\s#\]}]|-\s)/;

/** Returns the number of lines of YAML or TOML front matter. Text between two rules is not front matter, nor is an unclosed block. */
function frontMatterOf(lines: readonly string[]): number {
  const mark = lines[0]!.trimEnd();
  if (mark !== '---' && mark !== '+++') return 0;
  const isEnd = (line: string) => line.trimEnd() === mark || (mark === '---' && line.trimEnd() === '...');
  const end = lines.findIndex((line, index) => index > 0 && isEnd(line));
  const inside = lines.slice(1, Math.max(end, 1)).filter((line) => !/^\s*(?:#|$)/.test(line));
  const isYaml =
    inside.every((line) => yamlKey.test(line) || otherYaml.test(line)) &&
    inside.slice(0, 1).every((line) => yamlKey.test(line));
  return mark === '+++' || isYaml ? end + 1 : 0;
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
  // `#` marks at the end after a space close the heading and are not text.
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

/** Returns whether a line of = or - makes the lines before it a heading. Lists, quotes, tables and long paragraphs do not count. */
function isUnderlined(paragraph: string[], line: string): boolean {
  const mark = line.trim();
  if (paragraph.length === 0 || paragraph.length > 3 || !/^ {0,3}[=-]/.test(line)) return false;
  if (mark !== mark[0]!.repeat(mark.length)) return false;
  const isText = paragraph.every((text) => !/^\s*(?:[-*+>|]|\d{1,9}[.)])(?:\s|$)/.test(text) && !/^\s*\|/.test(text));
  return isText && paragraph.join(' ').length <= longestUnderlined;
}
