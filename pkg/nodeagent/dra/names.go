package dra

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// nodes are the owners of ResourceSlices.
var nodes = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}

// sliceName returns the name of the ResourceSlice of a node and a number. It never changes, so that an agent takes over what
// the agent before it wrote, and no two nodes share one.
func sliceName(node string, number int) string {
	name := fmt.Sprintf("%s-%s-%d", node, v1alpha1.DRADriver, number)
	if len(name) <= validation.DNS1123SubdomainMaxLength {
		return name
	}
	return fmt.Sprintf("%s-%s-%d", words.Digest(node, 64), v1alpha1.DRADriver, number)
}
