package integration

import (
	"context"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

// request is something that somebody asks of the API server, as a policy is asked about it.
type request struct {
	// verb is create, patch (a merge patch of body), delete or deletecollection.
	verb string
	// resource has the group after the first dot, and the subresource after a slash: deployments.apps/scale.
	resource string
	// namespace is empty for what has none.
	namespace, object string
	// body is YAML.
	body string
}

func (r request) parse() (of schema.GroupVersionResource, subresources []string) {
	versions := map[string]string{"rankwright.dev": "v1alpha1", "authentication.k8s.io": "v1"}
	kind, subresource, _ := strings.Cut(r.resource, "/")
	name, group, _ := strings.Cut(kind, ".")
	of = schema.GroupVersionResource{Group: group, Version: "v1", Resource: name}
	if version, other := versions[group]; other {
		of.Version = version
	}
	if subresource != "" {
		subresources = []string{subresource}
	}
	return of, subresources
}

// by makes the request.
func (r request) by(ctx context.Context, c dynamic.Interface) error {
	resource, subresources := r.parse()
	var on dynamic.ResourceInterface = c.Resource(resource)
	if r.namespace != "" {
		on = c.Resource(resource).Namespace(r.namespace)
	}
	switch r.verb {
	case "create":
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(r.body), &object.Object); err != nil {
			return err
		}
		object.SetName(r.object)
		_, err := on.Create(ctx, object, metav1.CreateOptions{}, subresources...)
		return err
	case "delete":
		return on.Delete(ctx, r.object, metav1.DeleteOptions{})
	case "deletecollection":
		return on.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	default:
		body, err := yaml.YAMLToJSON([]byte(r.body))
		if err != nil {
			return err
		}
		_, err = on.Patch(ctx, r.object, types.MergePatchType, body, metav1.PatchOptions{}, subresources...)
		return err
	}
}

// granted says whether RBAC lets a user make the request.
func (r request) granted(t *testing.T, admin kubernetes.Interface, user string) bool {
	t.Helper()
	resource, subresources := r.parse()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: r.verb, Group: resource.Group, Version: resource.Version, Resource: resource.Resource,
			Subresource: strings.Join(subresources, ""), Namespace: r.namespace, Name: r.object,
		},
	}}
	answer, err := admin.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Allowed
}
