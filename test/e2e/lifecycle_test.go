//go:build linux

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Installing takes less than a minute with the images at hand; what upgrading, going back and uninstalling leave is
// exactly what was before, but for the definitions of our kinds, which hold users' objects, and their namespaces.
func TestInstallUpgradeRollbackUninstall(t *testing.T) {
	s := on(t)
	s.bare(t)
	before := s.everything(t)
	began := time.Now()
	s.install(t)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("installing took %s, more than a minute", took.Round(time.Second))
	}
	for i, of := range served {
		s.awaitNode(t, s.Nodes[i].Name, func(n *corev1.Node) bool { return offered(n, of.resource) == of.count })
	}
	s.mustHelm(t, "test", release, "--namespace", agentNamespace, "--timeout", "2m")
	installed := s.everything(t)

	s.mustHelm(t, s.upgradeArgs([]string{"upgrade"}, "agent.logLevel=debug")...)
	s.same(t, "upgrade", installed)
	s.mustHelm(t, "rollback", release, "1", "--namespace", agentNamespace, "--wait", "--timeout", "3m")
	s.same(t, "rollback", installed)

	s.uninstall(t)
	kept := slices.DeleteFunc(installed, func(name string) bool {
		return !defines(name) && !slices.Contains(before, name)
	})
	s.same(t, "uninstall", slices.Compact(slices.Sorted(slices.Values(append(kept, before...)))), agentNamespace, operatorNamespace)
	for _, node := range s.Nodes {
		s.awaitNode(t, node.Name, func(n *corev1.Node) bool { return len(ours(n.Labels)) == 0 && len(ours(n.Annotations)) == 0 })
	}
}

// An installation that fails leaves nothing that uninstalling does not remove.
func TestFailedInstall(t *testing.T) {
	s := on(t)
	s.bare(t)
	before := s.everything(t)
	args := s.upgradeArgs([]string{"install"}, "operator.image.tag=no-such-tag")
	args[slices.Index(args, "3m")] = "20s"
	step("helm %s", strings.Join(args, " "))
	if output, err := s.helm(t.Context(), append(args, "--create-namespace")...); err == nil {
		t.Fatalf("an image that is not there was installed:\n%s", output)
	}
	s.uninstall(t)
	s.same(t, "uninstall", append(before, s.definitions(t)...), agentNamespace, operatorNamespace)
}

// same fails the test where other objects are there than wanted, in the end; namespaces may be empty and left.
func (s *site) same(t *testing.T, after string, want []string, namespaces ...string) {
	t.Helper()
	of := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return slices.ContainsFunc(namespaces, func(n string) bool { return isOfNamespaceItself(name, n) })
		})
	}
	want = of(want)
	slices.Sort(want)
	want = slices.Compact(want)
	var got []string
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_ = wait.PollUntilContextCancel(ctx, 500*time.Millisecond, true, func(context.Context) (bool, error) {
		got = of(s.everything(t))
		return slices.Equal(want, got), nil
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after %s (-wanted +there):\n%s", after, diff)
	}
}

// isOfNamespaceItself says whether an object is a namespace, or what Kubernetes puts into every one.
func isOfNamespaceItself(name, namespace string) bool {
	return slices.Contains([]string{
		"namespaces " + namespace, "serviceaccounts " + namespace + "/default", "configmaps " + namespace + "/kube-root-ca.crt",
	}, name)
}

// definitions are our CustomResourceDefinitions.
func (s *site) definitions(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(s.everything(t), func(name string) bool { return !defines(name) })
}

// defines says whether an object is a definition of our kinds, or the API service that the API server makes of them.
func defines(name string) bool {
	isDefinition := strings.HasPrefix(name, "customresourcedefinitions.") || strings.HasPrefix(name, "apiservices.")
	return isDefinition && strings.HasSuffix(name, ".rankwright.dev")
}

// passing are resources whose objects come and go by themselves, or are made of others.
var passing = []string{
	"events", "pods", "leases", "replicasets", "controllerrevisions", "endpointslices", "endpoints", "componentstatuses",
	"nodes", "csinodes", "ipaddresses", "poddisruptionbudgets.status", "secrets", "podmetrics",
}

// everything is what there is in the cluster, by resource and name.
func (s *site) everything(t *testing.T) []string {
	t.Helper()
	lists, err := s.clients.Discovery().ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.APIResources {
			kind := &list.APIResources[i]
			if !slices.Contains(kind.Verbs, "list") || slices.Contains(passing, kind.Name) {
				continue
			}
			names = append(names, s.names(t, group.WithResource(kind.Name))...)
		}
	}
	slices.Sort(names)
	return names
}

func (s *site) names(t *testing.T, of schema.GroupVersionResource) []string {
	t.Helper()
	objects, err := s.objects.Resource(of).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		return nil // a kind that has gone meanwhile
	}
	var names []string
	for i := range objects.Items {
		name := objects.Items[i].GetName()
		if namespace := objects.Items[i].GetNamespace(); namespace != "" {
			name = namespace + "/" + name
		}
		names = append(names, fmt.Sprintf("%s %s", of.GroupResource(), name))
	}
	return names
}
