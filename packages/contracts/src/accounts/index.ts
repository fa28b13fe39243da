export * from './admin-operations.ts';
export * from './events.ts';
export * from './operations.ts';
export * from './operator-operations.ts';
export * from './operator-resources.ts';
export * from './resources.ts';
export * from './trace-resources.ts';
