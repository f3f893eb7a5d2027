package recording

import (
	"encoding/json"

	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/plainjson"
)

// forWriters names the member of a resource's objects that lets its reader change the object. Only a
// caller who may write the resource sees it.
var forWriters = map[string]string{"subscriptions": "manage_url"}

// forReaders returns the object of an event of the type as a caller sees it who may only read its resource.
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
		return json.RawMessage("{}") // it is no object, so that it is unknown what it shows
	}
	return shown
}
