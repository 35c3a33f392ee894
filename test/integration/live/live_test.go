package live

import "testing"

// TestCommands runs all commands on one cluster. What looks comes before what changes.
func TestCommands(t *testing.T) {
	w := newWorld(t)
	for _, test := range []struct {
		name string
		run  func(*world)
	}{
		{"top", top},
		{"top selects", topSelects},
		{"top of what is seen", topUnseen},
		{"top as somebody else", topAs},
		{"tree", tree},
		{"why", whyOf},
		{"why tells", whyTells},
		{"on narrow terminals", narrow},
		{"ui", ui},
		{"completion", completes},
		{"completion through kubectl", completesThroughKubectl},
		{"the page of the plugin", documented},
		{"top watches", topWatch},
		{"explain", explains},
		{"plan", plans},
		{"plan with what is seen", plansUnseen},
		{"diff", diffs},
		{"cordon", cordons},
		{"replan and verify", asksAnew},
		{"every command of the documents", documentedCommands},
		{"record", records},
	} {
		t.Run(test.name, func(t *testing.T) {
			own := *w.World
			own.T = t
			test.run(&world{&own, w.kubeconfig, w.kubeconfigs})
		})
	}
}
