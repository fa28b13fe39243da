import { defineCollection } from 'astro:content';
import { docsSchema } from '@astrojs/starlight/schema';
import { pageLoader } from './page-loader.ts';

export const collections = { docs: defineCollection({ loader: pageLoader(), schema: docsSchema() }) };
