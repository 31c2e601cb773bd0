-- +goose Up
-- The value of a parameter is any JSON, where it was a string. Stored strings and digests stay.
-- A permission is restricted if its row contains that, so old grants keep their meaning.
ALTER TABLE grants RENAME COLUMN params TO parameters;
ALTER TABLE grant_requests RENAME COLUMN params TO parameters;

-- +goose Down
-- The version before reads strings only: another value becomes the string of its JSON.
UPDATE grants SET parameters = (
    SELECT json_object_agg(key, coalesce(value #>> '{}', 'null') ORDER BY key)::text
    FROM json_each(parameters::json)
) WHERE EXISTS (SELECT 1 FROM json_each(parameters::json) WHERE json_typeof(value) <> 'string');
ALTER TABLE grant_requests DISABLE TRIGGER grant_requests_stay;
UPDATE grant_requests SET parameters = (
    SELECT json_object_agg(key, coalesce(value #>> '{}', 'null') ORDER BY key)::text
    FROM json_each(parameters::json)
) WHERE EXISTS (SELECT 1 FROM json_each(parameters::json) WHERE json_typeof(value) <> 'string');
ALTER TABLE grant_requests ENABLE TRIGGER grant_requests_stay;
ALTER TABLE grants RENAME COLUMN parameters TO params;
ALTER TABLE grant_requests RENAME COLUMN parameters TO params;
