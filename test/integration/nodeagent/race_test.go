package nodeagent_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// before runs something once, between the agent's reading of the Node and its first write to it.
func before(config *rest.Config, something func()) *rest.Config {
	var once sync.Once
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodPatch && strings.Contains(request.URL.Path, "/nodes/") {
				once.Do(something)
			}
			return next.RoundTrip(request)
		})
	})
	return config
}

func TestLabelTakenMeanwhileIsLeftToTheStranger(t *testing.T) {
	s := newSiteFor(t, "race-label")
	s.agent = s.newAgent(before(agentConfig(t, s.node), func() {
		patch := map[string]any{"metadata": map[string]any{"labels": map[string]any{v1alpha1.Prefix + "nvidia.count": "many"}}}
		if err := s.admin.Patch(t.Context(), s.nodeKey(), mergePatch(t, patch), client.FieldOwner("a-stranger")); err != nil {
			t.Error(err)
		}
	}))
	s.nvidia.set(gpu(0))
	s.once()
	labels := s.labels()
	if labels["nvidia.count"] != "many" || labels["nvidia.present"] != "true" {
		t.Errorf("labels = %v, want the stranger's count and the rest of ours", labels)
	}
	condition := meta.FindStatusCondition(s.inventory().Status.Conditions, v1alpha1.ConditionLabelled)
	if condition.Reason != "Conflict" || !strings.Contains(condition.Message, `rankwright.dev/nvidia.count by "a-stranger"`) {
		t.Errorf("Labelled = %+v, want the conflict", condition)
	}
}

func TestNodeDeletedMeanwhileIsNotCreated(t *testing.T) {
	s := newSiteFor(t, "race-node")
	s.agent = s.newAgent(before(cluster.Config(), func() {
		if err := s.admin.Delete(t.Context(), s.nodeKey()); err != nil {
			t.Error(err)
		}
	}))
	s.nvidia.set(gpu(0))
	if err := s.agent.Once(t.Context()); err == nil {
		t.Error("no error for labels of a Node that is gone")
	}
	if err := s.admin.Get(t.Context(), client.ObjectKeyFromObject(s.nodeKey()), &corev1.Node{}); !apierrors.IsNotFound(err) {
		t.Errorf("reading the Node: %v, want not found", err)
	}
}

func TestRefusedLabelsDoNotHideTheInventory(t *testing.T) {
	s := newSiteFor(t, "race-refused")
	config := rest.CopyConfig(agentConfig(t, s.node))
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodPatch && strings.Contains(request.URL.Path, "/nodes/") {
				return nil, errors.New("refused")
			}
			return next.RoundTrip(request)
		})
	})
	s.agent = s.newAgent(config)
	s.nvidia.set(gpu(0))
	if err := s.agent.Once(t.Context()); err == nil {
		t.Error("no error for labels that were refused")
	}
	status := s.inventory().Status
	if status.Summary.Devices != 1 {
		t.Errorf("%d devices are published, want 1", status.Summary.Devices)
	}
	condition := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionLabelled)
	if condition.Reason != "ApplyFailed" || !strings.Contains(condition.Message, "refused") {
		t.Errorf("Labelled = %+v, want the refusal", condition)
	}
}

func TestTokenOfAnotherNodePublishesNothing(t *testing.T) {
	s, other := newSiteFor(t, "race-token"), newSiteFor(t, "race-token-other")
	s.agent = s.newAgent(agentConfig(t, other.node))
	if err := s.agent.Once(t.Context()); !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
		t.Errorf("error = %v, want the refusal", err)
	}
}
