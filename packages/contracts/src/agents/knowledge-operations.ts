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
  summary: 'List knowledge sources',
  description: 'Returns sources, newest first, whatever their status. A source must match every filter given.',
  query: z.object({
    kind: sourceKind.optional().meta({ description: 'Only sources of this kind.' }),
    collection: integerId.optional().meta({ description: 'Only sources of the collection with this id.' }),
    ...pageQuery,
  }),
  status: 200,
  response: pageOf(KnowledgeSource),
  errors: [],
});

export const createSource = operation('createSource', {
  method: 'POST',
  path: '/v1/agents/knowledge/sources',
  scope: write,
  summary: 'Create a knowledge source',
  description:
    'Adds an article, an FAQ or a website. It is `processing` until it has been read, which takes seconds. An account has at most 1,000,000 passages; a source that would exceed them fails.',
  body: SourceInput,
  status: 201,
  response: KnowledgeSource,
  errors: [],
});

export const getSource = operation('getSource', {
  method: 'GET',
  path: '/v1/agents/knowledge/sources/{source_id}',
  scope: read,
  summary: 'Retrieve a knowledge source',
  description:
    'Returns the source. Poll it until its `status` is no longer `processing`, or wait for `knowledge.ready` or `knowledge.failed`.',
  params: sourcePath,
  status: 200,
  response: KnowledgeSource,
  errors: ['not_found'],
});

export const updateSource = operation('updateSource', {
  method: 'PATCH',
  path: '/v1/agents/knowledge/sources/{source_id}',
  scope: write,
  summary: 'Update a knowledge source',
  description: 'Changes the source. It is read again if its title, text or pages change.',
  params: sourcePath,
  body: SourceChange,
  status: 200,
  response: KnowledgeSource,
  errors: ['not_found'],
});

export const deleteSource = operation('deleteSource', {
  method: 'DELETE',
  path: '/v1/agents/knowledge/sources/{source_id}',
  scope: write,
  summary: 'Delete a knowledge source',
  description: 'Deletes the source. Agents stop using it immediately.',
  params: sourcePath,
  status: 204,
  errors: ['not_found'],
});

export const refreshSource = operation('refreshSource', {
  method: 'POST',
  path: '/v1/agents/knowledge/sources/{source_id}/refresh',
  scope: write,
  summary: 'Refresh a knowledge source',
  description: 'Reads the source again. For a website, only changed pages are read.',
  params: sourcePath,
  body: z.object({}),
  status: 202,
  response: KnowledgeSource,
  errors: ['not_found'],
});

export const uploadFile = operation('uploadFile', {
  method: 'POST',
  path: '/v1/agents/knowledge/files',
  clientName: 'agents.knowledge.files.upload',
  scope: write,
  summary: 'Upload a file as a source',
  description:
    'The body is multipart/form-data. A file with the same bytes as an existing file is refused. The files of an account have at most 4,096 MiB, each rounded up to whole MiB. One more is refused with 409 invalid_state.',
  body: FileInput,
  bodyType: 'multipart',
  bodyLimit: maxFileBytes + 65_536,
  status: 201,
  response: KnowledgeSource,
  errors: ['invalid_state'],
});

export const listCollections = operation('listCollections', {
  method: 'GET',
  path: '/v1/agents/knowledge/collections',
  scope: read,
  summary: 'List collections',
  description: 'Returns collections, oldest first. The first is General.',
  query: z.object(pageQuery),
  status: 200,
  response: pageOf(Collection),
  errors: [],
});

export const createCollection = operation('createCollection', {
  method: 'POST',
  path: '/v1/agents/knowledge/collections',
  scope: write,
  summary: 'Create a collection',
  description: 'Creates an empty collection. Its name must be unique, ignoring case.',
  body: CollectionInput,
  status: 201,
  response: Collection,
  errors: [],
});

export const deleteCollection = operation('deleteCollection', {
  method: 'DELETE',
  path: '/v1/agents/knowledge/collections/{collection_id}',
  scope: write,
  summary: 'Delete a collection',
  description: 'Deletes a collection without sources. The collection General cannot be deleted.',
  params: collectionPath,
  status: 204,
  errors: ['not_found', 'invalid_state'],
});

export const searchKnowledge = operation('searchKnowledge', {
  method: 'POST',
  path: '/v1/agents/knowledge/search',
  scope: read,
  summary: 'Search knowledge',
  description: 'Returns the passages that agents would use, best match first.',
  body: SearchInput,
  status: 200,
  response: z.object({ data: z.array(SearchResult).meta({ description: 'Passages, best match first.' }) }),
  errors: [],
});
