export * from './requests.ts';
export * from './resources.ts';
