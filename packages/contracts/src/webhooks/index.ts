export * from './endpoint-inputs.ts';
export * from './events.ts';
export * from './operations.ts';
export * from './resources.ts';
