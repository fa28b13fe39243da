// What operators are told, in one place for the control plane, the command-line tool and the console. Nothing here imports a schema, so
// that the console's bundle has none.
export * from './customer-attention.ts';
export * from './gone-services.ts';
export * from './process-attention.ts';
export * from './queue-attention.ts';
export * from './runbooks.ts';
