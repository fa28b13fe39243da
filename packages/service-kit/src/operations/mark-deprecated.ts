import type { Deprecation } from '@customer-platform/contracts/core';
import type { RequestHandler } from 'express';

/**
 * Returns a handler that marks every response of an operation that will end, refusals too: `Deprecation` (RFC 9745) and `Sunset`
 * (RFC 8594) have the days, `Link` the path of its successor, with the values of the parameters that both paths have.
 */
export function markDeprecated({ since, sunset, instead }: Deprecation): RequestHandler {
  const headers = { Deprecation: `@${Date.parse(since) / 1_000}`, Sunset: new Date(sunset).toUTCString() };
  return ({ params }, response, next) => {
    const path = instead.path.replaceAll(/\{(\w+)\}/g, (braced, name: string) =>
      encodeURIComponent(String(params[name] ?? braced)),
    );
    response.set({ ...headers, Link: `<${path}>; rel="successor-version"` });
    next();
  };
}
