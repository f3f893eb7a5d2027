package account

import "context"

// Pages returns what the pages of the statement's PDF say.
func (st *Statement) Pages(ctx context.Context) ([][]string, error) {
	d, err := st.lay(ctx)
	if err != nil {
		return nil, err
	}
	return d.Pages(), nil
}
