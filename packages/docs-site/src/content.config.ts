import { docsSchema } from '@astrojs/starlight/schema';
import { defineCollection } from 'astro/content/config';
import { pageLoader } from './page-loader.ts';

export const collections = { docs: defineCollection({ loader: pageLoader(), schema: docsSchema() }) };
