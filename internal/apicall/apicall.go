// Package apicall names requests to a Kubernetes API server as RBAC does: by their verb and resource.
package apicall

import (
	"net/http"
	"strings"
)

var verbs = map[string]string{
	http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete", http.MethodGet: "list",
}

// Of returns the verb of a request, such as list, and its resource with the subresource, such as pods/status. Whatever is not of a resource,
// such as /version, is discovery.
func Of(request *http.Request) (verb, resource string) {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	before := map[string]int{"api": 2, "apis": 3}[parts[0]] // api/VERSION, apis/GROUP/VERSION
	if before == 0 || len(parts) <= before {
		return "get", "discovery"
	}
	parts = parts[before:]
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	verb, resource = verbs[request.Method], parts[0]
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	switch {
	case request.URL.Query().Get("watch") != "":
		verb = "watch"
	case verb == "list" && len(parts) > 1:
		verb = "get"
	}
	return verb, resource
}
