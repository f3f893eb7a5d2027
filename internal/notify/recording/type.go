package recording

import (
	"encoding/json"

	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/plainjson"
)

// forWriters names, by resource, the JSON member whose value is enough to change the object. Only callers who
// may write the resource see it.
var forWriters = map[string]string{"subscriptions": "manage_url"}

// forReaders returns the object of an event of type t, as shown to a caller who may only read the resource.
func forReaders(t event.Type, object json.RawMessage) json.RawMessage {
	hidden, ok := forWriters[t.Resource()]
	if !ok {
		return object
	}
	shown, err := plainjson.Edit(object, func(name string, value json.RawMessage) (json.RawMessage, error) {
		if name == hidden {
			value = json.RawMessage("null")
		}
		return value, nil
	})
	if err != nil {
		return json.RawMessage("{}") // not a JSON object, so the hidden member cannot be found
	}
	return shown
}
