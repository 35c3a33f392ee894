package nodeagent_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
	"github.com/rankwright/rankwright/pkg/nodeagent/podresources"
	"github.com/rankwright/rankwright/pkg/nodeagent/serving"
)

// The files by which containers were given devices go when the product is uninstalled, whether or not the agent's rights go
// first. They stay when an agent is restarted, since running containers need them to restart.
func TestFilesGoWithTheProduct(t *testing.T) {
	clients, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app.kubernetes.io/component": "node-agent"}
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: agentName, Namespace: agentName},
		Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "node-agent", Image: "none"}}},
		}},
	}
	uninstall := func(t *testing.T) {
		if err := clients.AppsV1().DaemonSets(agentName).Delete(t.Context(), agentName, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name, node string
		installed  bool
		before     func(*testing.T)
		forbidden  bool
		stays      bool
	}{
		{"restart", "uninstall-restart", true, func(*testing.T) {}, false, true},
		{"uninstalled", "uninstall-all", true, uninstall, false, false},
		{"uninstalled, the rights first", "uninstall-rights", true, func(t *testing.T) {
			if err := clients.RbacV1().RoleBindings(agentName).Delete(t.Context(), agentName, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}, true, false},
		{"never installed by a DaemonSet", "uninstall-none", false, func(*testing.T) {}, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newSiteFor(t, test.node)
			folder := t.TempDir()
			config := agentConfig(t, s.node)
			if test.installed {
				if _, err := clients.AppsV1().DaemonSets(agentName).Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					_ = clients.AppsV1().DaemonSets(agentName).Delete(context.Background(), agentName, metav1.DeleteOptions{})
				})
			}
			asked := make(chan struct{}, 1)
			s.configure = func(o *nodeagent.Options) {
				o.Pod = podresources.Pod{Namespace: agentName, Name: "an-agent"}
				o.Serving = &serving.Options{
					Config: serving.Config{Vendors: map[string]serving.VendorConfig{"amd": {Serve: true, Injection: injection.CDI}}},
					Folder: t.TempDir(), CDIFolder: folder, Installed: []string{filepath.Join(folder, "hook")},
				}
			}
			s.agent = s.newAgent(tellingDaemonSets(config, asked))
			s.amd.set(gpu(0, func(d *v1alpha1.Device) {
				d.ID, d.Vendor, d.Backend, d.Paths = "amd-0000:10:00.0", "amd", "amd", []string{"/dev/dri/renderD128"}
			}))
			if err := os.WriteFile(filepath.Join(folder, "hook"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			s.run()
			specification := filepath.Join(folder, "rankwright.dev-amd-gpu.json")
			s.await("the specification", func() bool { return there(specification) })
			<-asked
			test.before(t)
			if test.forbidden {
				agents, err := kubernetes.NewForConfig(config)
				if err != nil {
					t.Fatal(err)
				}
				s.await("the right to be gone", func() bool {
					_, err := agents.AppsV1().DaemonSets(agentName).Get(t.Context(), agentName, metav1.GetOptions{})
					return apierrors.IsForbidden(err)
				})
			}
			s.stop()
			for _, name := range []string{specification, filepath.Join(folder, "hook")} {
				if there(name) != test.stays {
					t.Errorf("%s is there: %v", name, !test.stays)
				}
			}
		})
	}
}

// tellingDaemonSets signals every answer about a DaemonSet.
func tellingDaemonSets(config *rest.Config, asked chan<- struct{}) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(request)
			if err == nil && strings.Contains(request.URL.Path, "/daemonsets/") {
				body, readErr := io.ReadAll(response.Body) // to the end, before the test ends the agent
				_ = response.Body.Close()
				response.Body, err = io.NopCloser(bytes.NewReader(body)), readErr
				select {
				case asked <- struct{}{}:
				default:
				}
			}
			return response, err
		})
	})
	return config
}

func there(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
