import { ApiError, type Operation } from '@customer-platform/contracts/core';
import express, { type RequestHandler } from 'express';
import { serviceUnavailable } from './database.ts';
import { inputParser, parseJsonObject } from './input.ts';

/** Largest body in bytes, where the operation says no other. */
const defaultLimit = 1_048_576;
/** Bodies above that are held in memory whole: so many at once, and further ones are asked to come again. */
const maxLargeBodies = 4;

interface RequestWithBody {
  headers: { 'content-type'?: string | undefined };
  body?: unknown;
}

/** Reads the body of an operation's requests, up to its limit. */
export function bodyReader(operation: Operation): RequestHandler {
  const limit = operation.bodyLimit ?? defaultLimit;
  const read = express.raw({ type: () => true, limit, inflate: false });
  if (limit <= defaultLimit) return read;
  let underWay = 0;
  return (request, response, next) => {
    if (underWay >= maxLargeBodies) {
      next(serviceUnavailable('Too many large bodies are being read; try again shortly'));
      return;
    }
    underWay++;
    response.once('close', () => underWay--);
    read(request, response, next);
  };
}

/** The bytes that `bodyReader` read. */
export function bodyBytes({ body }: RequestWithBody): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
}

/** A parser of the bodies of one operation, as its contract says they come. Throws invalid_request with the field at fault. */
export function bodyParser({ body, bodyType }: Operation) {
  if (!body) return async (): Promise<Record<string, unknown>> => ({});
  const parse = inputParser(body, bodyType === 'multipart' ? 'text' : 'json');
  return async (request: RequestWithBody): Promise<Record<string, unknown>> => {
    const bytes = bodyBytes(request);
    const type = request.headers['content-type'];
    return parse(bodyType === 'multipart' ? await parseForm(bytes, type) : parseJsonObject(bytes, type));
  };
}

/** The parts of a form by their names; each name may come once. */
async function parseForm(bytes: Buffer, contentType: string | undefined): Promise<Record<string, unknown>> {
  if (!/^multipart\/form-data\s*;/i.test(contentType ?? '')) throw notAForm();
  const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': contentType! } })
    .formData()
    .catch((cause: unknown) => {
      throw notAForm(cause);
    });
  const parts: Record<string, unknown> = {};
  for (const [name, value] of form) {
    if (Object.hasOwn(parts, name)) {
      throw new ApiError('invalid_request', `${name} must be given once`, { field: name });
    }
    Object.defineProperty(parts, name, { value, enumerable: true });
  }
  return parts;
}

function notAForm(cause?: unknown): ApiError {
  const message = 'body must be multipart/form-data, complete and with its boundary in Content-Type';
  return new ApiError('invalid_request', message, { field: 'body', cause });
}
