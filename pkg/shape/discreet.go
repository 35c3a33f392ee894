package shape

import "strings"

// Named returns how a holder of devices, written as namespace/name, is to be told to who asked.
func (t *Problem) Named(holder string) string {
	namespace, _, _ := strings.Cut(holder, "/")
	if t.request.Discreet && namespace != t.request.Placement.Namespace {
		return "a placement of another namespace"
	}
	return holder
}
