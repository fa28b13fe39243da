import { type Steps, stepBytes, stepNodes } from './steps.ts';

/** Spans of an export that are read: eight times as many as our own exporters send (OTEL_BSP_MAX_EXPORT_BATCH_SIZE, 512 by default). */
const maxSpans = 4_096;
/** Bytes of a span, and its objects and lists: these, not the bytes, take most of the time that parsing takes. */
const maxSpanBytes = 65_536;
const maxSpanNodes = 2_048;
/** The same of all resources and scopes of an export together, with what else is not in a span. */
const maxFrameBytes = 131_072;
const maxFrameNodes = 4_096;
const maxDepth = 64;

/** A body that is no export of spans in OTLP/JSON, or none of the size of one. */
export class MalformedExport extends Error {}

/** An export in parts that are small enough to be parsed each in one step. */
export interface SplitExport {
  /** The export as JSON, its spans replaced by their index in `spans`, or by -1 where they were rejected. */
  frame: string;
  spans: SpanPart[];
  rejected: number;
}

/** A span as JSON, and how many objects and lists are in it. */
interface SpanPart {
  json: Buffer;
  nodes: number;
}

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
/** The levels around a list of spans: {"resourceSpans":[{"scopeSpans":[{"spans":[ */
const pathToSpans = [openBrace, openBracket, openBrace, openBracket, openBrace, openBracket];

/**
 * Splits an export into its spans and the rest, without parsing it: JSON.parse takes 0.4 s for 4 MiB of small objects, 0.1 s even for 1 MiB,
 * and cannot be interrupted; a step takes 8 ms at most (docs/adr/0020). Throws MalformedExport where it is too deep or the rest too large; what is no JSON is found when the parts are parsed.
 */
export function* splitSpans(body: Buffer): Steps<SplitExport> {
  const splitter = new Splitter(body);
  while (splitter.read()) yield;
  return splitter.end();
}

class Splitter {
  readonly #body: Buffer;
  readonly #spans: SpanPart[] = [];
  readonly #frame: Buffer[] = [];
  #frameBytes = 0;
  #frameNodes = 0;
  #spanNodes = 0;
  #rejected = 0;
  #at = 0;
  #isInText = false;
  #depth = 0;
  /** Number of the outermost levels that are those of a list of spans. */
  #levelsToSpans = 0;
  /** Start of the span that is being read; -1 outside of spans. */
  #spanAt = -1;
  /** Start of the part of the frame that is not in it yet. */
  #restAt = 0;

  constructor(body: Buffer) {
    this.#body = body;
  }

  /** Reads what one step has room for; returns whether there is more. */
  read(): boolean {
    const body = this.#body;
    const end = Math.min(this.#at + stepBytes, body.length);
    let nodes = 0;
    for (; this.#at < end && nodes < stepNodes; this.#at++) {
      const byte = body[this.#at]!;
      if (this.#isInText) {
        if (byte === backslash) this.#at++;
        else if (byte === quote) this.#isInText = false;
      } else if (byte === quote) this.#isInText = true;
      else if (byte === openBrace || byte === openBracket) {
        nodes++;
        this.#open(byte);
      } else if (byte === closeBrace || byte === closeBracket) this.#close();
    }
    return this.#at < body.length;
  }

  end(): SplitExport {
    if (this.#depth > 0) throw new MalformedExport('body must be JSON');
    this.#addToFrame(this.#body.subarray(this.#restAt));
    return { frame: Buffer.concat(this.#frame).toString('utf8'), spans: this.#spans, rejected: this.#rejected };
  }

  #isInSpans(): boolean {
    return this.#depth === pathToSpans.length && this.#levelsToSpans === pathToSpans.length;
  }

  #open(byte: number): void {
    if (byte === openBrace && this.#isInSpans()) {
      this.#spanAt = this.#at;
      this.#spanNodes = 0;
    }
    if (this.#spanAt >= 0) this.#spanNodes++;
    else this.#frameNodes++;
    if (this.#levelsToSpans === this.#depth && pathToSpans[this.#depth] === byte) this.#levelsToSpans++;
    this.#depth++;
    if (this.#depth > maxDepth) throw new MalformedExport(`body must not be nested deeper than ${maxDepth} levels`);
  }

  #close(): void {
    if (this.#depth === 0) throw new MalformedExport('body must be JSON');
    this.#depth--;
    this.#levelsToSpans = Math.min(this.#levelsToSpans, this.#depth);
    if (this.#spanAt >= 0 && this.#isInSpans()) this.#endSpan();
  }

  #endSpan(): void {
    const end = this.#at + 1;
    const isSmall = end - this.#spanAt <= maxSpanBytes && this.#spanNodes <= maxSpanNodes;
    const isTaken = isSmall && this.#spans.length < maxSpans;
    this.#addToFrame(this.#body.subarray(this.#restAt, this.#spanAt));
    this.#addToFrame(Buffer.from(isTaken ? String(this.#spans.length) : '-1'));
    if (isTaken) this.#spans.push({ json: this.#body.subarray(this.#spanAt, end), nodes: this.#spanNodes });
    else this.#rejected++;
    this.#restAt = end;
    this.#spanAt = -1;
  }

  #addToFrame(part: Buffer): void {
    this.#frameBytes += part.length;
    if (this.#frameBytes > maxFrameBytes || this.#frameNodes > maxFrameNodes) {
      const bounds = `${maxFrameBytes} bytes and ${maxFrameNodes} objects and lists`;
      throw new MalformedExport(`resourceSpans must have at most ${bounds} besides its spans`);
    }
    this.#frame.push(part);
  }
}
