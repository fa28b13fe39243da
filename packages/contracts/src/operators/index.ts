// Rules and texts for operators, shared by the control plane, the command-line tool and the console. Nothing here imports a schema, which
// keeps schemas out of the console's bundle.
export * from './customer-attention.ts';
export * from './gone-services.ts';
export * from './process-attention.ts';
export * from './queue-attention.ts';
export * from './runbooks.ts';
