import { contactConsumer, restoredContactConsumer, unmergedContactConsumer } from '@customer-platform/contact-copy';
import type * as contract from '@customer-platform/contracts/agents';
import { createNameResolver, createPoster } from '@customer-platform/outbound';
import { type Foundation, type ServiceDefinition, WorkQueue } from '@customer-platform/service-kit';
import { createAgent } from './agents/create-agent.ts';
import { deleteAgent } from './agents/delete-agent.ts';
import { getAgent } from './agents/get-agent.ts';
import { goLiveAgent } from './agents/go-live-agent.ts';
import { listAgents } from './agents/list-agents.ts';
import { pauseAgent } from './agents/pause-agent.ts';
import { updateAgent } from './agents/update-agent.ts';
import { type AgentsConfig, agentsConfig } from './config.ts';
import type { AgentsResources } from './implement.ts';
import { createCollection } from './knowledge/create-collection.ts';
import { createSource } from './knowledge/create-source.ts';
import { deleteCollection } from './knowledge/delete-collection.ts';
import { deleteSource } from './knowledge/delete-source.ts';
import { getSource } from './knowledge/get-source.ts';
import { listCollections } from './knowledge/list-collections.ts';
import { listSources } from './knowledge/list-sources.ts';
import { refreshSource } from './knowledge/refresh-source.ts';
import { renewOldWords } from './knowledge/renew-words.ts';
import { searchKnowledge } from './knowledge/search-knowledge.ts';
import { updateSource } from './knowledge/update-source.ts';
import { uploadFile } from './knowledge/upload-file.ts';
import { onMessageReceived } from './planning/on-message-received.ts';
import { planning } from './planning/planner.ts';
import { requestPlan } from './planning/request-plan.ts';
import { approvePlan } from './plans/approve-plan.ts';
import { approvePlanStep } from './plans/approve-plan-step.ts';
import { cancelPlan } from './plans/cancel-plan.ts';
import { renumberPlans } from './plans/contact-numbers.sql.ts';
import { expirePlans } from './plans/expire-plans.ts';
import { getPlan } from './plans/get-plan.ts';
import { handleMeasurePlans } from './plans/handle-measure-plans.ts';
import { listPlans } from './plans/list-plans.ts';
import { onContactMerged, onContactUnmerged } from './plans/on-contact-merged.ts';
import { rejectPlan } from './plans/reject-plan.ts';
import { rejectPlanStep } from './plans/reject-plan-step.ts';
import { stepRunning } from './plans/step-runner.ts';
import { updatePlanStep } from './plans/update-plan-step.ts';
import { SourceReader } from './reading/source-reader.ts';
import { getAgentSettings } from './settings/get-agent-settings.ts';
import { updateAgentSettings } from './settings/update-agent-settings.ts';
import { getAgentUsage } from './usage/get-agent-usage.ts';
import { settleLostCalls } from './usage/settle-lost-calls.ts';
import { getWorkflowDraft } from './workflow/get-workflow-draft.ts';
import { getWorkflowVersion } from './workflow/get-workflow-version.ts';
import { listWorkflowVersions } from './workflow/list-workflow-versions.ts';
import { publishWorkflow } from './workflow/publish-workflow.ts';
import { putWorkflowDraft } from './workflow/put-workflow-draft.ts';
import { rollBackWorkflow } from './workflow/roll-back-workflow.ts';

/** AI agents: an account's knowledge, and plans in response to its customers' messages. */
export const agents: ServiceDefinition<typeof contract, typeof agentsConfig, AgentsResources> = {
  name: 'agents',
  config: agentsConfig,
  migrations: new URL('../migrations/', import.meta.url),
  operations: {
    // The first matching path wins, so fixed paths come before paths with an id.
    listSources,
    createSource,
    getSource,
    updateSource,
    deleteSource,
    refreshSource,
    uploadFile,
    listCollections,
    createCollection,
    deleteCollection,
    searchKnowledge,
    listPlans,
    getPlan,
    approvePlan,
    rejectPlan,
    cancelPlan,
    approvePlanStep,
    rejectPlanStep,
    updatePlanStep,
    getAgentSettings,
    updateAgentSettings,
    getAgentUsage,
    listAgents,
    createAgent,
    getAgent,
    updateAgent,
    deleteAgent,
    goLiveAgent,
    pauseAgent,
    requestPlan,
    getWorkflowDraft,
    putWorkflowDraft,
    publishWorkflow,
    listWorkflowVersions,
    getWorkflowVersion,
    rollBackWorkflow,
  },
  requests: { measurePlans: handleMeasurePlans },
  consumers: [
    contactConsumer,
    restoredContactConsumer('plans', renumberPlans),
    unmergedContactConsumer,
    onContactMerged,
    onContactUnmerged,
    onMessageReceived,
  ],
  jobs: [expirePlans, settleLostCalls, renewOldWords],
  resources: makeResources,
};

/** Starts the planner, the step runner and the source reader. `stop` waits for work in progress. */
async function makeResources(foundation: Foundation<AgentsConfig>) {
  const { config } = foundation;
  const secretKeys = config.AGENTS_SECRET_KEY;
  const guard = { allowedRanges: config.WEBHOOKS_ALLOWED_RANGES, resolve: createNameResolver(5_000) };
  const poster = createPoster({
    ...guard,
    timeoutMs: config.AGENTS_AI_TIMEOUT_MS,
    maxSocketsPerPool: config.AGENTS_MAX_PLANNING,
    maxSockets: config.AGENTS_MAX_PLANNING * 4,
    keptBytes: 64 * 1024,
    neverResends: true,
  });
  const planner = new WorkQueue(
    foundation,
    planning({ ...foundation, secretKeys, poster }, { wake: () => stepRunner.wake() }),
  );
  const stepRunner = new WorkQueue(foundation, stepRunning(foundation, planner));
  const sourceReader = new SourceReader({ ...foundation, guard });
  return {
    secretKeys,
    guard,
    planner,
    stepRunner,
    sourceReader,
    async stop() {
      await Promise.all([planner.stop(), stepRunner.stop(), sourceReader.stop()]);
      await poster.close();
    },
  };
}
