export * from './events.ts';
export * from './operations.ts';
export * from './requests.ts';
export * from './resources.ts';
