package browser

import (
	"strconv"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/pkg/holding"
	"github.com/rankwright/rankwright/pkg/inventory"
)

// TestLive follows a cluster: what changes there changes on the page, which keeps what somebody does.
func TestLive(t *testing.T) {
	s := newStandIn(t)
	inventories := large(t, s, 40)
	b := open(t, serve(t, "--kubeconfig", s.kubeconfig(t)).address, 1200, 800)
	b.awaits(`document.querySelector('[data-n=nodes]')?.value === '40' && document.querySelector('#live.live')?.textContent === 'live'`)
	b.run(`location.hash = '#/fleet?node=h100x8-00007'`)
	b.awaits(`document.querySelectorAll('.side .devices li').length === 8`)
	b.key("/")
	b.awaits(`document.activeElement.id === 'search'`)
	b.key("h100x8-0000")
	changed := inventories[7].DeepCopy()
	changed.Status.Devices[2].Health = v1alpha1.DeviceHealth{State: v1alpha1.Unhealthy, Reason: "FellOffTheBus"}
	s.change("acceleratorinventories", changed)
	b.awaits(`document.querySelector('.side .tag.bad')?.textContent === 'Unhealthy: FellOffTheBus'`)
	b.key("7")
	b.awaits(`document.querySelector('#search').value === 'h100x8-00007' && document.querySelector('[data-n="shown.nodes"]').value === '1'`)
}

// TestUtilization compares how busy devices are on the page with what top prints, and follows the Leases of the agents, which say it.
func TestUtilization(t *testing.T) {
	s := newStandIn(t)
	inventories := large(t, s, 12)
	file := s.kubeconfig(t)
	b := open(t, serve(t, "--kubeconfig", file).address, 1440, 1000)
	b.awaits(`document.querySelector('[data-n="totals.utilization.meanPercent"]')`)
	list := clitest.Object[struct{ Items []holding.Device }](t, printed(t, "top", "devices", "--kubeconfig", file, "-o", "json"))
	totals := holding.Sum(list.Items)
	if totals.Utilization.Of != 96 || totals.Utilization.Percent() == 0 {
		t.Fatalf("top prints a mean of %v", totals.Utilization)
	}
	want := ofFleet(&holding.Fleet{Devices: list.Items, Nodes: make([]holding.Node, 12)})
	delete(want, "closedNodes")
	b.hold(".kpis", want)
	b.run(`location.hash = '#/fleet?node=h100x8-00007&colour=utilization'`)
	b.awaits(`document.querySelectorAll('.side [data-n$="utilization.percent"]').length === 8`)
	b.hold(".side", want)
	b.run(`location.hash = '#/fleet?as=table'`)
	b.awaits(`document.querySelectorAll('.nodes tbody [data-n$="utilization.meanPercent"]').length === 12`)
	b.hold(".nodes tbody", want)
	b.run(`location.hash = '#/fleet?q=util>90'`)
	busy := 0
	for i := range list.Items {
		if list.Items[i].Utilization.Percent >= 90 {
			busy++
		}
	}
	b.awaits(`document.querySelector('[data-n="shown.devices"]').value === '` + strconv.Itoa(busy) + `'`)

	renewed := leaseOf(t, inventories[7], 1000)
	said, err := inventory.ParseUtilization(renewed.Annotations[v1alpha1.AnnotationUtilization])
	if err != nil {
		t.Fatal(err)
	}
	id := inventories[7].Status.Devices[2].ID
	b.run(`location.hash = '#/fleet?node=h100x8-00007'`)
	s.change("leases", renewed)
	b.awaits(`document.querySelector('.side [data-n="devices.h100x8-00007/` + string(id) + `.utilization.percent"]')?.textContent === '` + strconv.FormatInt(said.Percent[id], 10) + ` %'`)
}

// TestNotPermitted says what is not seen, and shows nothing as free that somebody unseen might hold.
func TestNotPermitted(t *testing.T) {
	s := newStandIn(t)
	large(t, s, 10)
	s.forbids("pods")
	b := open(t, serve(t, "--kubeconfig", s.kubeconfig(t)).address, 1200, 800)
	b.awaits(`document.querySelector('[data-n=nodes]')?.value === '10'`)
	if got := get[string](b, `document.querySelector('#unseen').textContent`); !strings.HasPrefix(got, "Not permitted: pods.") {
		t.Errorf("the page says %q of what is not seen", got)
	}
	for name, want := range map[string]string{"totals.conditions.Idle": "0", "totals.freeMiB": "0"} {
		if got := get[string](b, `document.querySelector('.kpis [data-n="`+name+`"]').value`); got != want {
			t.Errorf("%s is %s for a user who sees no pods", name, got)
		}
	}
	unknown, err := strconv.Atoi(get[string](b, `document.querySelector('.facets [data-n="totals.conditions.Unknown"]').value`))
	if err != nil || unknown == 0 {
		t.Errorf("%d devices are not known to be free: %v", unknown, err)
	}

	s.forbids("acceleratorinventories", "nodes", "pods")
	b = open(t, serve(t, "--kubeconfig", s.kubeconfig(t)).address, 1200, 800)
	b.awaits(`document.querySelector('.kpis small')?.textContent === 'not permitted to see the others'`)
	b.run(`location.hash = '#/what-if?model=7B'`)
	b.awaits(`document.querySelector('.note.bad')?.textContent.includes('you may not see acceleratorinventories')`)
}

// TestOutage says since when the page is not kept up to date and why: at once to screen readers, and by the second to the eye.
func TestOutage(t *testing.T) {
	s := newStandIn(t)
	large(t, s, 10)
	p := serve(t, "--kubeconfig", s.kubeconfig(t))
	b := open(t, p.address, 1200, 800)
	b.awaits(`document.querySelector('#live.live')?.textContent === 'live'`)
	said := `document.querySelector('#why').textContent`
	if got := get[string](b, said); got != "" {
		t.Errorf("the page says %q while all is well", got)
	}
	s.knows(false)
	b.awaits(said + `.startsWith('The API server does not know the user of the context any more: log in again') && document.querySelector('#live.lost')?.textContent === 'not updated'`)
	b.awaits(said + `.match(/\. What you see is from \d\d:\d\d:\d\d\.$/) && document.querySelector('#since').textContent.match(/^That was [1-9]\d* s ago\.$/)`)
	if !get[bool](b, `document.querySelector('#why').matches('[role=alert]') && document.querySelector('#since').matches('[aria-hidden=true]') && document.querySelector('#outage').offsetHeight > 20`) {
		t.Error("the sentence is not read aloud, or the seconds are, or neither is seen")
	}
	s.knows(true)
	b.awaits(said + ` === '' && document.querySelector('#live.live')?.textContent === 'live' && document.querySelector('#outage').offsetHeight === 0`)

	b.deserted.Store(true)
	p.Stop(grace)
	b.awaits(said + `.startsWith('The plugin does not answer')`)
}
