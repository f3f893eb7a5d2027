package totals

import "context"

// Step is a part of the rebuild.
func (s *Service[T]) Step(ctx context.Context) (more bool, err error) { return s.step(ctx) }

// RebuildPage is how many orders a step reads.
const RebuildPage = rebuildPage
