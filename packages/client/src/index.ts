export type { ApiCall, CallOptions, ListCall, Page, ResponseInfo } from './call.ts';
export { type Client, createClient } from './client.ts';
export {
  ConnectionError,
  isPlatformError,
  isRequestError,
  PlatformError,
  type RequestError,
  ResponseError,
  TimeoutError,
  WaitError,
} from './errors.ts';
export type * from './generated/types.ts';
export { eachOf } from './pages.ts';
export type { ClientOptions, RequestLine } from './requests/send.ts';
export type { EventStream, Reconnect, StreamedEvent, StreamOptions } from './stream/event-stream.ts';
export type { NewerKind, UnknownEvent } from './unknown-event.ts';
export type { WaitFor, WaitOptions } from './wait-for.ts';
export { signWebhook, type WebhookBody } from './webhooks/signature.ts';
export {
  verifyWebhook,
  type WebhookFault,
  type WebhookHeaders,
  WebhookVerificationError,
} from './webhooks/verify-webhook.ts';
