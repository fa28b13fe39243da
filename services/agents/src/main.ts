import { contactConsumer } from '@customer-platform/contact-copy';
import { runProcess, type ServiceDefinition, startService } from '@customer-platform/service-kit';
import { createAgent } from './agents/create-agent.ts';
import { deleteAgent } from './agents/delete-agent.ts';
import { getAgent } from './agents/get-agent.ts';
import { goLiveAgent } from './agents/go-live-agent.ts';
import { listAgents } from './agents/list-agents.ts';
import { pauseAgent } from './agents/pause-agent.ts';
import { updateAgent } from './agents/update-agent.ts';
import { createCollection } from './knowledge/create-collection.ts';
import { createSource } from './knowledge/create-source.ts';
import { deleteCollection } from './knowledge/delete-collection.ts';
import { deleteSource } from './knowledge/delete-source.ts';
import { getSource } from './knowledge/get-source.ts';
import { listCollections } from './knowledge/list-collections.ts';
import { listSources } from './knowledge/list-sources.ts';
import { refreshSource } from './knowledge/refresh-source.ts';
import { searchKnowledge } from './knowledge/search-knowledge.ts';
import { updateSource } from './knowledge/update-source.ts';
import { uploadFile } from './knowledge/upload-file.ts';
import { makeResources } from './make-resources.ts';
import { onMessageReceived } from './planning/on-message-received.ts';
import { requestPlan } from './planning/request-plan.ts';
import { approvePlan } from './plans/approve-plan.ts';
import { approvePlanStep } from './plans/approve-plan-step.ts';
import { cancelPlan } from './plans/cancel-plan.ts';
import { expirePlans } from './plans/expire-plans.ts';
import { getPlan } from './plans/get-plan.ts';
import { listPlans } from './plans/list-plans.ts';
import { onContactMerged } from './plans/on-contact-merged.ts';
import { rejectPlan } from './plans/reject-plan.ts';
import { rejectPlanStep } from './plans/reject-plan-step.ts';
import { updatePlanStep } from './plans/update-plan-step.ts';
import { type AgentsResources, agentsConfig } from './resources.ts';
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

/** AI agents: know what an account told them, and plan what to do for its customers when these write. */
export const agents: ServiceDefinition<typeof agentsConfig, AgentsResources> = {
  name: 'agents',
  config: agentsConfig,
  migrations: new URL('../migrations/', import.meta.url),
  operations: [
    // What is fixed in a path before what is any id.
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
  ],
  consumers: [contactConsumer, onContactMerged, onMessageReceived],
  jobs: [expirePlans, settleLostCalls],
  resources: makeResources,
};

if (import.meta.main) await runProcess(() => startService(agents, process.env));
