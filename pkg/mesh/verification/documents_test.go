package verification

import (
	"path/filepath"
	"regexp"
	"testing"
	"testing/synctest"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/repository"
)

// blamed are the pods that a collective names, which depends on whose time ends first.
var blamed = regexp.MustCompile(`pod \d did not answer in time, says pod \d`)

// TestDocumentedReports holds the samples of docs/use/verification.md; -update writes them anew.
func TestDocumentedReports(t *testing.T) {
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	page := clitest.ReadPage(t, filepath.Join(root, "docs", "use", "verification.md"))
	show := func(pod string, r *Report, task *Task) {
		page.ShowLine(t, "kubectl logs "+pod+" -c rankwright-verify", blamed.ReplaceAllString(r.Text(task), "pod 3 did not answer in time, says pod 1"))
	}
	synctest.Test(t, func(t *testing.T) {
		p := newPods(t, 6, sixRanks()...)
		show("llm-4", p.verify(t)[4], p.task)
	})
	pods := verifiedStates()
	synctest.Test(t, func(t *testing.T) {
		p := newPods(t, 6, sixRanks()...)
		p.task.DeadlineSeconds, p.dial = 24, between(0, 3, swallowed)
		reports := p.verify(t)
		show("llm-0", reports[0], p.task)
		show("llm-5", reports[5], p.task)
		for i := range pods {
			pods[i].End.Node = p.task.Pods[i].Node
		}
	})
	say(pods, 0, v1alpha1.FindingLinkBroken, 3)
	say(pods, 3, v1alpha1.FindingLinkBroken, 0)
	page.ShowLine(t, `kubectl get dmesh llm -o jsonpath='{.status.conditions[?(@.type=="Verified")].message}'`, Judge(pods, false).Message+"\n")
	page.Hold(t)
}
