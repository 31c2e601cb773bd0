-- +goose Up
-- The value of a parameter is any JSON, where it was a string. Stored strings and digests stay.
-- A permission is restricted if its row contains that, so old grants keep their meaning.
ALTER TABLE grants RENAME COLUMN params TO parameters;
ALTER TABLE grant_requests RENAME COLUMN params TO parameters;

-- +goose Down
-- The version before reads strings only: another value becomes the string of its JSON.
UPDATE grants SET parameters = (
    SELECT json_group_object(key,
        CASE type WHEN 'text' THEN atom ELSE '' || (parameters -> fullkey) END)
    FROM json_each(parameters)
) WHERE EXISTS (SELECT 1 FROM json_each(parameters) WHERE type <> 'text');
DROP TRIGGER grant_requests_stay;
UPDATE grant_requests SET parameters = (
    SELECT json_group_object(key,
        CASE type WHEN 'text' THEN atom ELSE '' || (parameters -> fullkey) END)
    FROM json_each(parameters)
) WHERE EXISTS (SELECT 1 FROM json_each(parameters) WHERE type <> 'text');
-- +goose StatementBegin
CREATE TRIGGER grant_requests_stay BEFORE UPDATE ON grant_requests
WHEN OLD.status <> 'open'
BEGIN
    SELECT RAISE(ABORT, 'the request has been decided on before');
END;
-- +goose StatementEnd
ALTER TABLE grants RENAME COLUMN parameters TO params;
ALTER TABLE grant_requests RENAME COLUMN parameters TO params;
