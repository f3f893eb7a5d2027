package account

import "context"

// Pages returns the texts on the pages of the statement's PDF.
func (st *Statement) Pages(ctx context.Context) ([][]string, error) {
	d, err := st.layOut(ctx)
	if err != nil {
		return nil, err
	}
	var said [][]string
	for _, page := range d.Pages() {
		var texts []string
		for _, t := range page {
			texts = append(texts, t.Text)
		}
		said = append(said, texts)
	}
	return said, nil
}

// PINRecord returns the id of the record that stores the entries for an account.
func PINRecord(account string) string { return pinID(account) }
