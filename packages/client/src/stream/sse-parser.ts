/** A message of a Server-Sent Events stream: `id` is the last one that the stream gave. One without data only gives an id. */
export interface SseMessage {
  id: string | undefined;
  data: string;
}

/** A parser of one stream's text, as it comes in pieces of any size. */
export interface SseParser {
  /** Returns the messages that a piece completes. Throws RangeError for one longer than the bound. */
  push(piece: string): SseMessage[];
  /** Milliseconds after which the stream asked to reconnect, by its latest `retry:`. */
  readonly retryMs: number | undefined;
}

/** Returns a parser of Server-Sent Events as the HTML standard has them, whose messages have at most `maxLength` UTF-16 units. */
export function createSseParser(maxLength: number): SseParser {
  let line = '';
  let followsReturn = false;
  let id: string | undefined;
  let data: string[] = [];
  let length = 0;
  let hasFields = false;
  let retryMs: number | undefined;

  function readLine(): SseMessage | undefined {
    if (line === '') return takeMessage();
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'data') data.push(value);
    if (name === 'id' && !value.includes('\0')) id = value;
    if (name === 'retry' && /^\d+$/.test(value)) retryMs = Number(value);
    hasFields ||= name === 'data' || name === 'id';
    return undefined;
  }

  function takeMessage(): SseMessage | undefined {
    const message = hasFields ? { id, data: data.join('\n') } : undefined;
    data = [];
    length = 0;
    hasFields = false;
    return message;
  }

  /** Adds to the line, which is not looked at before it is whole: a byte at a time costs no more than all at once. */
  function append(part: string): void {
    length += part.length;
    if (length > maxLength) throw new RangeError(`a message of the stream is longer than ${maxLength} characters`);
    line += part;
  }

  return {
    get retryMs() {
      return retryMs;
    },
    push(piece) {
      const messages: SseMessage[] = [];
      let start = followsReturn && piece.startsWith('\n') ? 1 : 0;
      if (piece !== '') followsReturn = piece.endsWith('\r');
      for (const { index } of piece.matchAll(/[\r\n]/g)) {
        if (index < start) continue;
        append(piece.slice(start, index));
        const message = readLine();
        if (message) messages.push(message);
        // Comments keep a connection alive for days: they count for no message.
        if (line.startsWith(':')) length -= line.length;
        line = '';
        start = piece.startsWith('\r\n', index) ? index + 2 : index + 1;
      }
      append(piece.slice(start));
      return messages;
    },
  };
}
