package apicall

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestOf(t *testing.T) {
	for _, c := range []struct{ method, path, verb, resource string }{
		{http.MethodGet, "/api/v1/pods", "list", "pods"},
		{http.MethodGet, "/api/v1/pods?watch=true&resourceVersion=1", "watch", "pods"},
		{http.MethodGet, "/api/v1/namespaces", "list", "namespaces"},
		{http.MethodGet, "/api/v1/namespaces/a", "get", "namespaces"},
		{http.MethodGet, "/api/v1/namespaces/a/pods", "list", "pods"},
		{http.MethodPatch, "/api/v1/namespaces/a/pods/p", "patch", "pods"},
		{http.MethodPost, "/api/v1/namespaces/a/pods/p/eviction", "create", "pods/eviction"},
		{http.MethodGet, "/apis/rankwright.dev/v1alpha1/acceleratorinventories/n", "get", "acceleratorinventories"},
		{http.MethodPatch, "/apis/rankwright.dev/v1alpha1/namespaces/a/devicemeshes/m/status", "patch", "devicemeshes/status"},
		{http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/a/leases/l", "update", "leases"},
		{http.MethodDelete, "/api/v1/nodes/n", "delete", "nodes"},
		{http.MethodGet, "/version", "get", "discovery"},
		{http.MethodGet, "/apis/apps/v1", "get", "discovery"},
		{http.MethodGet, "/", "get", "discovery"},
	} {
		if verb, resource := Of(httptest.NewRequest(c.method, c.path, http.NoBody)); verb != c.verb || resource != c.resource {
			t.Errorf("%s %s is %s %s, want %s %s", c.method, c.path, verb, resource, c.verb, c.resource)
		}
	}
}
