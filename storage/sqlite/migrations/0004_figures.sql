-- Records of invoices have another stored form from here on: Version 2 of internal/upgrade. The migration changes no
-- table: it lets older processes fail with storage.ErrNewer instead of writing the earlier form.
SELECT 1;
