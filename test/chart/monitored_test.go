package chart

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
)

// servePrometheus gives the cluster the kinds of the Prometheus operator, as its own project defines them, as long as the test lasts.
func servePrometheus(t *testing.T) {
	t.Helper()
	env, folder := []string{"KUBECONFIG=" + cluster.Kubeconfig()}, filepath.Join("testdata", "prometheus-operator")
	kubectl := func(args ...string) {
		if _, said, err := tool(t, env, "kubectl", args...); err != nil {
			t.Errorf("kubectl %q: %v\n%s", args, err, said)
		}
	}
	t.Cleanup(func() {
		kubectl("delete", "--wait", "-f", folder)
		// What follows is to be refused such kinds, and to list none.
		err := wait.PollUntilContextTimeout(context.Background(), 100*time.Millisecond, patience, true, func(context.Context) (bool, error) {
			_, err := clients(t).Discovery().ServerResourcesForGroupVersion("monitoring.coreos.com/v1")
			return apierrors.IsNotFound(err), nil
		})
		if err != nil {
			t.Errorf("the kinds of the Prometheus operator are served still: %v", err)
		}
	})
	kubectl("apply", "--server-side", "-f", folder)
	kubectl("wait", "--for=condition=Established", "--timeout=60s", "-f", folder)
}

// Where the Prometheus operator is, an API server takes monitors, rules and dashboards with all that they say: what a kind does not know would be left out of them.
func TestMonitoredIsAccepted(t *testing.T) {
	servePrometheus(t)
	makeNamespace(t, "monitoring")
	for _, values := range []string{"monitored.yaml", "unguarded.yaml"} {
		t.Run(values, func(t *testing.T) {
			before := prepare(t, agentNamespace)
			runCleanup(t)
			args := []string{"--values", filepath.Join("testdata", "values", values), "--set", "dashboards.enabled=true,crds.keep=false"}
			mustHelm(t, append([]string{"install", release, chartDir(t), "--namespace", agentNamespace}, args...)...)
			installed := snapshot(t.Context(), t).without(before).ofChart()
			if diff := cmp.Diff(rendered(t, args...), installed.keys()); diff != "" {
				t.Errorf("installed (+) is not what is rendered (-):\n%s", diff)
			}
			count := map[string]int{}
			for _, object := range render(t, args...) {
				if shown, is := monitoring(object), installed[key(object)]; shown != nil && is != nil {
					count[object.GetKind()]++
					if diff := cmp.Diff(shown, monitoring(is)); diff != "" {
						t.Errorf("%s is kept (+) otherwise than it is rendered (-):\n%s", key(object), diff)
					}
				}
			}
			if files, err := filepath.Glob(filepath.Join(chartDir(t), "dashboards", "*.json")); err != nil || count["ConfigMap"] != len(files) {
				t.Errorf("compared %v of %d dashboards, %v", count, len(files), err)
			}
			if count["PodMonitor"] == 0 || values == "monitored.yaml" && count["PrometheusRule"] == 0 {
				t.Errorf("compared %v, want monitors and rules", count)
			}
			mustHelm(t, "uninstall", release, "--namespace", agentNamespace)
			awaitKeys(t, before)
		})
	}
}

// monitoring is what an object says that others watch the product by; nil for other objects.
func monitoring(o *unstructured.Unstructured) any {
	switch {
	case o.GetKind() == "PodMonitor", o.GetKind() == "PrometheusRule":
		return o.Object["spec"]
	case o.GetKind() == "ConfigMap" && o.GetLabels()["grafana_dashboard"] != "":
		return o.Object["data"]
	}
	return nil
}
