package dra

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// What the driver reads and writes, without the typed clients of client-go.
var (
	nodes          = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	resourceSlices = schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "resourceslices"}
	resourceClaims = schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaims"}
)

// sliceName is that of a node's ResourceSlice of a number: always the same, so that an agent takes over what one before it
// wrote, and never the same for two nodes.
func sliceName(node string, number int) string {
	name := fmt.Sprintf("%s-%s-%d", node, v1alpha1.DRADriver, number)
	if len(name) <= validation.DNS1123SubdomainMaxLength {
		return name
	}
	return fmt.Sprintf("%s-%s-%d", words.Digest(node, 64), v1alpha1.DRADriver, number)
}
