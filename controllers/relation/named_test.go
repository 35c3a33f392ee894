package relation

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// asked is a cache that tells which index was asked for.
type asked struct {
	client.Reader
	index string
}

func (a *asked) List(_ context.Context, _ client.ObjectList, options ...client.ListOption) error {
	var all client.ListOptions
	all.ApplyOptions(options)
	if a.index = ""; all.FieldSelector != nil {
		a.index = all.FieldSelector.String()
	}
	return nil
}

func (a *asked) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	return nil
}

func TestNamedListsByIndex(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	cache := &asked{}
	named := &Named{Reader: cache, Scheme: scheme}
	if err := named.Index(t.Context(), cache, &corev1.Pod{}); err != nil {
		t.Fatal(err)
	}
	one := client.MatchingLabels{v1alpha1.LabelPlacement: "llm", "app": "x"}
	for _, test := range []struct {
		name    string
		list    client.ObjectList
		options []client.ListOption
		want    string
	}{
		{"of one placement", &corev1.PodList{}, []client.ListOption{client.InNamespace("n"), one}, placementField + "=llm"},
		{"of any placement", &corev1.PodList{}, []client.ListOption{client.HasLabels{v1alpha1.LabelPlacement}}, ""},
		{"by another index", &corev1.PodList{}, []client.ListOption{one, client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("a", "b")}}, "a=b"},
		{"of a kind without an index", &corev1.SecretList{}, []client.ListOption{one}, ""},
		{"all", &corev1.PodList{}, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := named.List(t.Context(), test.list, test.options...); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, cache.index); diff != "" {
				t.Errorf("index (-want +got):\n%s", diff)
			}
		})
	}
}
