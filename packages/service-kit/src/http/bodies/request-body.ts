import { createHash } from 'node:crypto';
import type { Operation } from '@customer-platform/contracts/core';
import express, { type Request, type RequestHandler, type Response } from 'express';
import { busy, FairPermits, PermitQueue } from '../../fairness/fair-permits.ts';
import { limitReached } from '../../telemetry/limits.ts';
import { inputParser, parseJsonObject } from '../input.ts';
import { type ReceivedForm, readForm } from './form-body.ts';

/** Default limit of a body in bytes. A larger body needs a permit. */
const defaultLimit = 1_048_576;
/** Permits for four large bodies in memory, at most two per owner. Up to 100 more wait for a permit, for at most 15 s. */
const largeBodies = new PermitQueue(new FairPermits(4), 100, 15_000, 'large_bodies');
/** Bytes of other bodies in memory, raw and parsed. One owner gets at most half. Bodies below `leastHeldBytes` do not count. */
const bodyMemory = new FairPermits(134_217_728);
const leastHeldBytes = 65_536;

interface RequestWithBody {
  headers: { 'content-type'?: string | undefined };
  body?: unknown;
}

/**
 * Returns a handler that reads an operation's body up to its limit. The gateway sends the body as fast as the handler reads. `ownerOf` returns the
 * customer of a request, live or sandbox, or throws ApiError.
 */
export function bodyReader(operation: Operation, ownerOf: (request: Request) => string): RequestHandler {
  const limit = operation.bodyLimit ?? defaultLimit;
  const readBytes = express.raw({ type: () => true, limit, inflate: false });
  const readBody: RequestHandler = (request, response, next) =>
    readBytes(request, response, (error?: unknown) => {
      if (error || operation.bodyType !== 'multipart') return next(error);
      readForm(bytesOf(request.body), request.headers['content-type']).then((form) => {
        request.body = form;
        next();
      }, next);
    });
  return (request, response, next) => {
    const { 'content-length': stated, 'transfer-encoding': coding } = request.headers;
    const bytes = Math.min(Number(stated ?? (coding === undefined ? 0 : limit)), limit);
    if (bytes < leastHeldBytes) return readBody(request, response, next);
    holdMemory(bytes, response, ownerOf).then(() => readBody(request, response, next), next);
  };
}

/** Counts a body as held until its response is sent. Throws 429 rate_limited if its owner's bodies leave no room, 503 if others' do. */
async function holdMemory(bytes: number, response: Response, ownerOf: (request: Request) => string): Promise<void> {
  const owner = ownerOf(response.req);
  const isLarge = bytes > defaultLimit;
  if (isLarge) {
    if (!largeBodies.tryTake(owner)) await largeBodies.wait(owner, 'the reading of files', response);
  } else if (!bodyMemory.tryTake(owner, 2 * bytes)) {
    limitReached('body_memory');
    throw busy(bodyMemory.holds(owner), 'the service');
  }
  const release = () => (isLarge ? largeBodies.release(owner) : bodyMemory.release(owner, 2 * bytes));
  if (response.closed) release();
  else response.once('close', release);
}

/** Returns the fingerprint that distinguishes bodies sent with the same Idempotency-Key. */
export function bodyFingerprint({ body }: RequestWithBody): Buffer {
  return isForm(body) ? body.fingerprint : createHash('sha256').update(bytesOf(body)).digest();
}

function bytesOf(body: unknown): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
}

function isForm(body: unknown): body is ReceivedForm {
  return typeof body === 'object' && body !== null && 'parts' in body;
}

/** Returns a parser for an operation's bodies, by its contract. The parser throws invalid_request with the wrong field. */
export function bodyParser({ method, body: schema, bodyType }: Operation) {
  if (!schema) return (): Record<string, unknown> => ({});
  const parse = inputParser(schema, bodyType === 'multipart' ? 'text' : method === 'PATCH' ? 'change' : 'json');
  return ({ body, headers }: RequestWithBody): Record<string, unknown> => {
    if (!isForm(body)) return parse(parseJsonObject(bytesOf(body), headers['content-type']));
    if (body.error) throw body.error;
    return parse(body.parts);
  };
}
