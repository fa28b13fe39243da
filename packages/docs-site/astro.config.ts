import { satteri } from '@astrojs/markdown-satteri';
import starlight from '@astrojs/starlight';
import { defineConfig } from 'astro/config';
import { base, siteTitle } from './src/manifest.ts';
import { navigation } from './src/navigation.ts';

export default defineConfig({
  base,
  trailingSlash: 'never',
  cacheDir: './.astro/cache',
  build: { inlineStylesheets: 'never' },
  vite: {
    build: { assetsInlineLimit: 0, license: { fileName: 'licenses.md' } },
    // Express depends on an older version, which the renderer would otherwise resolve first.
    environments: { prerender: { resolve: { noExternal: ['cookie'] } } },
  },
  markdown: { processor: satteri({ features: { headingAttributes: true, smartPunctuation: false } }) },
  integrations: [
    starlight({
      title: siteTitle,
      sidebar: navigation(),
      customCss: ['./src/styles/site.css'],
      pagination: false,
      markdown: { processedDirs: ['../../docs'] },
      pagefind: { ranking: { metaWeights: { title: 2, keywords: 4 } } },
      credits: false,
      expressiveCode: { defaultProps: { frame: 'none', wrap: true } },
      head: ['address.js', 'wide-tables.js'].map((name) => ({
        tag: 'script',
        attrs: { type: 'module', src: `${base}/${name}` },
      })),
    }),
  ],
});
