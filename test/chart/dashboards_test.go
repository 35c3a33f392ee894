package chart

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const dashboardPrefix = "rankwright-dashboard-"

// TestDashboardsAreAsTheFiles holds the ConfigMaps of dashboards to the chart's files: what Grafana puts into braces is no template of Helm's.
func TestDashboardsAreAsTheFiles(t *testing.T) {
	made := map[string]map[string]string{}
	for _, object := range render(t, "--set", "dashboards.enabled=true") {
		data, _, err := unstructured.NestedStringMap(object.Object, "data")
		if err == nil && object.GetKind() == "ConfigMap" && object.GetLabels()["grafana_dashboard"] == "1" {
			made[object.GetName()] = data
		}
	}
	files, err := filepath.Glob(filepath.Join(chartDir(t), "dashboards", "*.json"))
	if err != nil || len(files) == 0 || len(made) != len(files) {
		t.Fatalf("%d ConfigMaps of %d dashboards, %v", len(made), len(files), err)
	}
	uids := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		if got := made[dashboardPrefix+name[:len(name)-len(".json")]]["rankwright-"+name]; got != string(text) {
			t.Errorf("the ConfigMap of %s has %d bytes, want its %d", name, len(got), len(text))
		}
		var board struct{ UID, Title string }
		if err := json.Unmarshal(text, &board); err != nil || board.UID == "" || uids[board.UID] {
			t.Errorf("%s: %v, uid %q, which is empty or another's", name, err, board.UID)
		}
		uids[board.UID] = true
	}
}
