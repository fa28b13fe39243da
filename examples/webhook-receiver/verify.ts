import type { IncomingHttpHeaders } from 'node:http';
import { verifyWebhook, WebhookVerificationError } from '@customer-platform/client';

/**
 * Returns whether a delivery is genuine and at most 5 minutes old, by Standard Webhooks. `body` is the raw bytes as received, `secret`
 * the endpoint's secret, `whsec_…`.
 */
export async function isGenuine(headers: IncomingHttpHeaders, body: Buffer, secret: string): Promise<boolean> {
  try {
    await verifyWebhook(headers, body, secret);
    return true;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return false;
    throw error;
  }
}
