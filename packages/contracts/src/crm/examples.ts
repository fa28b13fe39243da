import { lenaSummary } from '../cdp/examples.ts';
import type { EventExamplesOf, ExamplesOf } from '../core/examples.ts';
import { onePage } from '../core/examples.ts';
import type * as events from './events.ts';
import type * as operations from './operations.ts';
import type { Deal, Pipeline } from './resources.ts';

const pipeline: Pipeline = {
  id: 1,
  name: 'Sales',
  stages: [
    { id: 1, name: 'New', order: 1 },
    { id: 2, name: 'Qualified', order: 2 },
    { id: 3, name: 'Proposal', order: 3 },
  ],
};
const weddings: Pipeline = {
  id: 2,
  name: 'Weddings',
  stages: [
    { id: 4, name: 'Asked', order: 1 },
    { id: 5, name: 'Trial styling', order: 2 },
    { id: 6, name: 'Booked', order: 3 },
  ],
};

/** A possible sale: the styling for Lena's wedding. */
export const weddingDeal: Deal = {
  id: '019a9c70-3e21-7a90-8c4d-5d6e7f8091a0',
  title: 'Styling for Lena’s wedding',
  pipeline: { id: 1, name: 'Sales' },
  stage: { id: 1, name: 'New' },
  status: 'open',
  value_minor: 48_000,
  currency: 'EUR',
  contact: lenaSummary,
  notes: 'Bride and five guests, in May.',
  stage_entered_at: '2025-11-09T14:30:00+01:00',
  closed_at: null,
  created_at: '2025-11-09T14:30:00+01:00',
  updated_at: '2025-11-09T14:30:00+01:00',
};
const later = '2025-11-18T10:12:30+01:00';
const moved: Deal = {
  ...weddingDeal,
  stage: { id: 2, name: 'Qualified' },
  stage_entered_at: later,
  updated_at: later,
};
const raised: Deal = {
  ...weddingDeal,
  value_minor: 54_000,
  notes: 'Bride and six guests, in May.',
  updated_at: later,
};
const won: Deal = { ...moved, status: 'won', closed_at: later };
const lost: Deal = { ...moved, status: 'lost', closed_at: later };

export const crmExamples: ExamplesOf<typeof operations> = {
  listPipelines: { response: onePage(pipeline, weddings) },
  createPipeline: {
    body: { name: 'Weddings', stages: [{ name: 'Asked' }, { name: 'Trial styling' }, { name: 'Booked' }] },
    response: weddings,
  },
  getPipeline: { response: pipeline },
  updatePipeline: { body: { name: 'Sales and weddings' }, response: { ...pipeline, name: 'Sales and weddings' } },
  listDeals: { response: onePage(weddingDeal) },
  createDeal: {
    body: {
      title: weddingDeal.title,
      value_minor: 48_000,
      currency: 'EUR',
      contact: lenaSummary.id,
      notes: weddingDeal.notes,
    },
    response: weddingDeal,
  },
  getDeal: { response: weddingDeal },
  updateDeal: { body: { value_minor: 54_000, notes: raised.notes }, response: raised },
  moveDeal: { body: { stage: 2 }, response: moved },
  winDeal: { response: won },
  loseDeal: { body: { reason: 'They found a stylist nearer to the venue.' }, response: lost },
  reopenDeal: { response: moved },
};

export const crmEventExamples: EventExamplesOf<typeof events> = {
  dealCreated: { deal: weddingDeal },
  dealUpdated: { deal: raised, previous: { value_minor: weddingDeal.value_minor, notes: weddingDeal.notes } },
  dealStageChanged: { deal: moved, previous: { stage: weddingDeal.stage } },
  dealWon: { deal: won, previous: { status: 'open' } },
  dealLost: { deal: lost, previous: { status: 'open' }, reason: 'They found a stylist nearer to the venue.' },
  dealReopened: { deal: moved, previous: { status: 'lost', closed_at: later } },
  dealDeleted: { deal: { id: moved.id, title: moved.title } },
};
