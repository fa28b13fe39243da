-- The newest open deal of a contact in a pipeline, which plans ask for, however many it has that are closed.
create index concurrently if not exists deals_open_of_contact on deals (account_id, contact_id, pipeline_id, id) where status = 'open';
