package httpapi

import (
	_ "embed"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/internal/yamljson"
)

//go:embed openapi.yaml
var openAPI []byte

// OpenAPI returns the description of the interface, in OpenAPI 3.1 and YAML. It
// is the same for every service; the address in it is an example. Package
// httpapi/reference makes a page of it for people.
func OpenAPI() []byte { return slices.Clone(openAPI) }

// OpenAPIJSON returns the description of the interface as JSON, for a service
// that is reached at baseURL, without a slash at its end; "" leaves the example
// in its place.
func OpenAPIJSON(baseURL string) ([]byte, error) {
	root, err := yamljson.Parse(openAPI)
	if err != nil {
		return nil, fmt.Errorf("httpapi: openapi.yaml: %w", err)
	}
	if servers := yamljson.Get(root, "servers"); baseURL != "" && servers != nil && len(servers.Content) == 1 {
		if address := yamljson.Get(servers.Content[0], "variables", "base_url", "default"); address != nil {
			*address = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: baseURL}
		}
	}
	data, err := yamljson.Marshal(root)
	if err != nil {
		return nil, fmt.Errorf("httpapi: openapi.yaml: %w", err)
	}
	return data, nil
}

// openAPIRoutes serve the description to programs, which find everything else
// under /v1, too. Any key will do.
func openAPIRoutes(svc *payments.Service) []route {
	document := sync.OnceValues(func() ([]byte, error) { return OpenAPIJSON(svc.BaseURL()) })
	return []route{{method: http.MethodGet, pattern: "/v1/openapi.json", handle: func(*request) (any, error) {
		data, err := document()
		if err != nil {
			return nil, err
		}
		return content("application/json", data), nil
	}}}
}
