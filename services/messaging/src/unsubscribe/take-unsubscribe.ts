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

/** Serves the links of marketing: GET asks, POST withdraws the consent (RFC 8058: from mail programs too). Spans do not name the path itself. */
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
 * Responds with a page and returns its status: 200, however often the consent was withdrawn before, also for a contact that is gone; 400 for a
 * token that is none of ours. HEAD tells whose the link is. The body is not read. Throws 503 where customer data does not respond.
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
  while (accounts.known(accountId) === undefined) await accounts.learn([accountId]);
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
