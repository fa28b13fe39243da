import { recordOptOut } from '@customer-platform/contracts/cdp';
import {
  hookAccountHeader,
  inServerSpan,
  refuseOtherMethods,
  routePattern,
  sendError,
  type WorkContext,
} from '@customer-platform/service-kit';
import type { Express, Request, Response } from 'express';
import type { MessagingResources } from '../implement.ts';
import { invalidLinkPage, pageHeaders, unsubscribePage } from './unsubscribe-page.ts';

const path = '/u/{token}';

/** Serves unsubscribe links: GET shows a question, POST withdraws consent, also from mail programs (RFC 8058). Spans do not contain the path. */
export function addUnsubscribe(app: Express, context: WorkContext<MessagingResources>): void {
  const serve = (request: Request, response: Response) =>
    inServerSpan(request, { route: path }, async () => {
      try {
        return await takeUnsubscribe(request, response, context);
      } catch (error) {
        return sendError(response, error, context.log);
      }
    });
  const pattern = routePattern(path);
  app.route(pattern).get(serve).post(serve);
  refuseOtherMethods(app, pattern, 'GET, HEAD, POST, OPTIONS');
}

/**
 * Responds with a page and returns its status. It is 200 even if repeated or the contact is deleted, and 400 for an invalid token. HEAD returns the
 * account of the link. Does not read the body. Throws 503 if customer data does not reply.
 */
async function takeUnsubscribe(
  request: Request,
  response: Response,
  { resources, accounts, clocks }: WorkContext<MessagingResources>,
): Promise<number> {
  const subscription = resources.unsubscribeLinks.subscriptionOf(String(request.params.token));
  if (!subscription) return sendPage(response, 400, invalidLinkPage());
  const { accountId, contactId: contact, channel } = subscription;
  if (request.method === 'HEAD') return sendPage(response.set(hookAccountHeader, accountId), 200, '');
  while (accounts.known(accountId) === undefined) await accounts.fetch([accountId]);
  const account = accounts.known(accountId);
  if (!account) return sendPage(response, 400, invalidLinkPage());
  const isDone = request.method === 'POST';
  if (isDone) {
    const at = clocks.nowOf(accountId, clocks.real()).toISOString();
    const said = { contact, channel, state: 'withdrawn', source: 'unsubscribe', at } as const;
    await resources.askFor(accountId)(recordOptOut, said);
  }
  return sendPage(response, 200, unsubscribePage(account, isDone));
}

function sendPage(response: Response, status: number, page: string): number {
  response.status(status).set(pageHeaders).send(page);
  return status;
}
