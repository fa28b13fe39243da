export * from '../core/channel.ts';
export * from './channels.ts';
export * from './events.ts';
export * from './operations.ts';
export * from './requests.ts';
export * from './resources.ts';
export * from './templates.ts';
