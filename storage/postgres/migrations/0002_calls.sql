-- This release writes open charges, the order of events and idempotency keys in a way that
-- older processes would misread. The migration changes no table: it lets them fail with
-- storage.ErrNewer instead of writing beside newer ones.
SELECT 1;
