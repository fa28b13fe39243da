/** All modules' contracts as one. Two contracts that export the same name do not compile. */
export * from './accounts/index.ts';
export * from './agents/index.ts';
export * from './calendar/index.ts';
export * from './catalogue/index.ts';
export * from './cdp/index.ts';
export * from './crm/index.ts';
export * from './messaging/index.ts';
export * from './webhooks/index.ts';
