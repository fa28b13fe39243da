/** A message of a Server-Sent Events stream. `id` is the stream's last id. A message may have an id and no data. */
export interface SseMessage {
  id: string | undefined;
  data: string;
}

/** Parses one stream, in chunks of any size. */
export interface SseParser {
  /** Returns the messages that a chunk completes. Throws RangeError for a message longer than the limit. */
  push(piece: string): SseMessage[];
  /** The reconnect delay in milliseconds of the latest `retry:` field. */
  readonly retryMs: number | undefined;
}

/** Returns a parser of Server-Sent Events, by the HTML standard. A message has at most `maxLength` UTF-16 units. */
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

  /** Adds to the line. A line is parsed only once it is complete, so one-byte chunks cost no more than large ones. */
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
        // Keep-alive comments do not count towards a message's length, since a connection may last for days.
        if (line.startsWith(':')) length -= line.length;
        line = '';
        start = piece.startsWith('\r\n', index) ? index + 2 : index + 1;
      }
      append(piece.slice(start));
      return messages;
    },
  };
}
