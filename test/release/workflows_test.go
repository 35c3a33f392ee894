package release

import (
	"path/filepath"
	"regexp"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/internal/repository"
)

// logicless are the commands that a workflow may run: what they do can be done on any machine. Signing alone needs the forge.
var logicless = regexp.MustCompile(`^(sudo --preserve-env=[A-Z,_]+ )?(\.ci/run|\.ci/release|make release|xargs cosign sign --yes < dist/digests\.txt)$`)

// Workflows have no logic of their own, fixed versions of what they use, and no more rights than a job asks for.
func TestWorkflowsHaveNoLogic(t *testing.T) {
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("workflows: %v, %v", files, err)
	}
	pinned := regexp.MustCompile(`@(v\d+|[0-9a-f]{40})$`)
	for _, file := range files {
		var workflow struct {
			Permissions map[string]string
			Jobs        map[string]struct {
				Steps []struct{ Uses, Run string }
			}
		}
		if err := yaml.Unmarshal(read(t, file), &workflow); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(workflow.Permissions) != 1 || workflow.Permissions["contents"] != "read" {
			t.Errorf("%s: permissions %v: want contents: read, and more for a job that needs it", file, workflow.Permissions)
		}
		for name, job := range workflow.Jobs {
			for _, step := range job.Steps {
				if step.Run != "" && !logicless.MatchString(step.Run) {
					t.Errorf("%s, %s: %q: put it into .ci/run or .ci/release", file, name, step.Run)
				}
				if step.Uses != "" && !pinned.MatchString(step.Uses) {
					t.Errorf("%s, %s: %s has no version", file, name, step.Uses)
				}
			}
		}
	}
}
