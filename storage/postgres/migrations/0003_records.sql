-- Records have another stored form from here on; see internal/upgrade. The migration changes no table: it lets older
-- processes fail with storage.ErrNewer instead of writing the earlier form.
SELECT 1;
