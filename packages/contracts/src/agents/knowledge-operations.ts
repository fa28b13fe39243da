import { z } from 'zod';
import { integerId } from '../core/fields.ts';
import { operationsOf } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import {
  Collection,
  CollectionInput,
  collectionPath,
  FileInput,
  KnowledgeSource,
  maxFileBytes,
  SearchInput,
  SearchResult,
  SourceChange,
  SourceInput,
  sourceKind,
  sourcePath,
} from './knowledge.ts';

const operation = operationsOf('agents', 'agents');
const read = 'agents.knowledge:read';
const write = 'agents.knowledge:write';

export const listSources = operation('listSources', {
  method: 'GET',
  path: '/v1/agents/knowledge/sources',
  scope: read,
  summary: 'Lists Knowledge sources, newest first',
  query: z.object({ kind: sourceKind.optional(), collection: integerId.optional(), ...pageQuery }),
  status: 200,
  answer: pageOf(KnowledgeSource),
  errors: [],
});

export const createSource = operation('createSource', {
  method: 'POST',
  path: '/v1/agents/knowledge/sources',
  scope: write,
  summary: 'Adds an article, an FAQ or a website; it is read within seconds',
  body: SourceInput,
  status: 201,
  answer: KnowledgeSource,
  errors: [],
});

export const getSource = operation('getSource', {
  method: 'GET',
  path: '/v1/agents/knowledge/sources/{source_id}',
  scope: read,
  summary: 'Reads a source',
  params: sourcePath,
  status: 200,
  answer: KnowledgeSource,
  errors: ['not_found'],
});

export const updateSource = operation('updateSource', {
  method: 'PATCH',
  path: '/v1/agents/knowledge/sources/{source_id}',
  scope: write,
  summary: 'Changes a source; one whose text or pages change is read anew',
  params: sourcePath,
  body: SourceChange,
  status: 200,
  answer: KnowledgeSource,
  errors: ['not_found'],
});

export const deleteSource = operation('deleteSource', {
  method: 'DELETE',
  path: '/v1/agents/knowledge/sources/{source_id}',
  scope: write,
  summary: 'Deletes a source',
  params: sourcePath,
  status: 204,
  errors: ['not_found'],
});

export const refreshSource = operation('refreshSource', {
  method: 'POST',
  path: '/v1/agents/knowledge/sources/{source_id}/refresh',
  scope: write,
  summary: 'Has a source read again; of a website what changed',
  params: sourcePath,
  body: z.object({}),
  status: 202,
  answer: KnowledgeSource,
  errors: ['not_found'],
});

export const uploadFile = operation('uploadFile', {
  method: 'POST',
  path: '/v1/agents/knowledge/files',
  scope: write,
  summary: 'Adds a file as a source',
  description: 'The body is multipart/form-data. The same bytes twice are refused.',
  body: FileInput,
  bodyType: 'multipart',
  bodyLimit: maxFileBytes + 65_536,
  status: 201,
  answer: KnowledgeSource,
  errors: [],
});

export const listCollections = operation('listCollections', {
  method: 'GET',
  path: '/v1/agents/knowledge/collections',
  scope: read,
  summary: 'Lists collections, oldest first: the first is General',
  query: z.object(pageQuery),
  status: 200,
  answer: pageOf(Collection),
  errors: [],
});

export const createCollection = operation('createCollection', {
  method: 'POST',
  path: '/v1/agents/knowledge/collections',
  scope: write,
  summary: 'Adds a collection; its name is unique, in any case',
  body: CollectionInput,
  status: 201,
  answer: Collection,
  errors: [],
});

export const deleteCollection = operation('deleteCollection', {
  method: 'DELETE',
  path: '/v1/agents/knowledge/collections/{collection_id}',
  scope: write,
  summary: 'Deletes a collection without sources; General stays',
  params: collectionPath,
  status: 204,
  errors: ['not_found', 'invalid_state'],
});

export const searchKnowledge = operation('searchKnowledge', {
  method: 'POST',
  path: '/v1/agents/knowledge/search',
  scope: read,
  summary: 'Searches what agents answer from: the best passages first',
  body: SearchInput,
  status: 200,
  answer: z.object({ data: z.array(SearchResult) }),
  errors: [],
});
