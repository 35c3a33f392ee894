package dra

import (
	"log/slog"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"

	"github.com/rankwright/rankwright/pkg/nodeagent/disk"
	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
)

// claimsAt is an API server that has these claims.
func claimsAt(t *testing.T, claims ...*resourceapi.Claim) dynamic.Interface {
	t.Helper()
	var objects []runtime.Object
	for _, c := range claims {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c)
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{Object: content}
		object.SetAPIVersion(resourceapi.Claims.GroupVersion().String())
		object.SetKind("ResourceClaim")
		objects = append(objects, object)
	}
	return fake.NewSimpleDynamicClient(runtime.NewScheme(), objects...)
}

// openedIn is the checkpoint of a folder.
func openedIn(t *testing.T, folder string) *checkpoint {
	t.Helper()
	c, err := openCheckpoint(folder, disk.Node{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// called gives a claim another name, and the UID that goes with it.
func called(name string, c *resourceapi.Claim) *resourceapi.Claim {
	c.Name, c.UID = name, types.UID("uid-of-"+name)
	return c
}
