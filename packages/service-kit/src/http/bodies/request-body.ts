import { createHash } from 'node:crypto';
import type { Operation } from '@customer-platform/contracts/core';
import express, { type Request, type RequestHandler, type Response } from 'express';
import { busy, FairPermits, PermitQueue } from '../../fairness/fair-permits.ts';
import { limitReached } from '../../telemetry/limits.ts';
import { inputParser, parseJsonObject } from '../input.ts';
import { type ReceivedForm, readForm } from './form-body.ts';

/** Largest body in bytes, where the operation says no other; a larger one needs a permit. */
const defaultLimit = 1_048_576;
/** Large bodies in memory at once, two of one owner; and those that wait for one of them to end, each for 15 s at most. */
const largeBodies = new PermitQueue(new FairPermits(4), 100, 15_000, 'large_bodies');
/** Bytes that other bodies take at once, as they came and parsed; an owner's alone may have half of them. Smaller ones do not count. */
const bodyMemory = new FairPermits(134_217_728);
const leastHeldBytes = 65_536;

interface RequestWithBody {
  headers: { 'content-type'?: string | undefined };
  body?: unknown;
}

/**
 * Reads the body of an operation's requests, up to its limit: the gateway sends it as fast as it is taken. `ownerOf` says which customer a request is of, live or
 * sandbox, or throws ApiError.
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

/** Has a body count among those in memory until its response is sent. Throws 429 rate_limited where its owner's leave no room, 503 where others' do. */
async function holdMemory(bytes: number, response: Response, ownerOf: (request: Request) => string): Promise<void> {
  const owner = ownerOf(response.req);
  const isLarge = bytes > defaultLimit;
  if (isLarge) {
    if (!largeBodies.tryTake(owner)) await largeBodies.wait(owner, 'the reading of files', response);
  } else if (!bodyMemory.tryTake(owner, 2 * bytes)) {
    limitReached('body_memory');
    throw busy(bodyMemory.holds(owner), 'the service');
  }
  const giveBack = () => (isLarge ? largeBodies.giveBack(owner) : bodyMemory.giveBack(owner, 2 * bytes));
  if (response.closed) giveBack();
  else response.once('close', giveBack);
}

/** Returns the fingerprint that tells a body from another one under the same Idempotency-Key. */
export function bodyFingerprint({ body }: RequestWithBody): Buffer {
  return isForm(body) ? body.fingerprint : createHash('sha256').update(bytesOf(body)).digest();
}

function bytesOf(body: unknown): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
}

function isForm(body: unknown): body is ReceivedForm {
  return typeof body === 'object' && body !== null && 'parts' in body;
}

/** A parser of the bodies of one operation, as its contract says they come. Throws invalid_request with the field at fault. */
export function bodyParser({ method, body: schema, bodyType }: Operation) {
  if (!schema) return (): Record<string, unknown> => ({});
  const parse = inputParser(schema, bodyType === 'multipart' ? 'text' : method === 'PATCH' ? 'change' : 'json');
  return ({ body, headers }: RequestWithBody): Record<string, unknown> => {
    if (!isForm(body)) return parse(parseJsonObject(bytesOf(body), headers['content-type']));
    if (body.error) throw body.error;
    return parse(body.parts);
  };
}
