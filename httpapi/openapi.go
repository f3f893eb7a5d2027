package httpapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"net/http"
	"slices"
	"sync"

	"github.com/seed-7082ffec/payments"
)

// The description is written by hand in YAML. The JSON and the page of package
// reference are made from it.
//
//go:generate go run ../internal/test/apidocs
var (
	//go:embed openapi.yaml
	openAPI []byte
	//go:embed openapi.json
	openAPIJSON []byte
)

// exampleURL is the address in the description.
const exampleURL = "http://127.0.0.1:8080"

// OpenAPI returns the OpenAPI 3.1 description of the API, as YAML. It is the same for every
// service; the address in it is an example. Package httpapi/reference serves a page of it for
// people.
func OpenAPI() []byte { return slices.Clone(openAPI) }

// OpenAPIJSON returns the OpenAPI description as JSON, with baseURL as the server's URL. baseURL
// has no slash at its end. "" keeps the example URL.
func OpenAPIJSON(baseURL string) []byte {
	if baseURL == "" {
		return slices.Clone(openAPIJSON)
	}
	address, _ := json.Marshal(baseURL) // a string always has a form in JSON
	return bytes.Replace(openAPIJSON, []byte(`"default":"`+exampleURL+`"`), append([]byte(`"default":`), address...), 1)
}

// openAPIRoutes serve the description to programs, which find everything else
// under /v1, too. Any key will do.
func openAPIRoutes(svc *payments.Service) []route {
	document := sync.OnceValue(func() []byte { return OpenAPIJSON(svc.BaseURL()) })
	return []route{{method: http.MethodGet, pattern: "/v1/openapi.json", handle: plain(func(*request) (any, error) {
		return newResponse("application/json", document()), nil
	})}}
}
