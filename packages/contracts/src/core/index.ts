export * from './account.ts';
export * from './errors.ts';
export * from './event.ts';
export * from './fields.ts';
export * from './modules.ts';
export * from './operation.ts';
export * from './page.ts';
export * from './request.ts';
