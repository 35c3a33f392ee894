package browser

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/systeminfo"
	"github.com/chromedp/chromedp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// The bars of the page, for 5,000 nodes with 40,000 devices of which 20 change a second.
const (
	nodes             = 5000
	changesPerSecond  = 20
	renewalsPerSecond = 83
	firstPictureBar   = 2 * time.Second
	frameBar          = 50 * time.Millisecond
	interactionBar    = 100 * time.Millisecond
	whatIfBar         = 500 * time.Millisecond
	browserMemoryBar  = 300 << 20
	pluginMemoryBar   = 400 << 20
	firstStateBar     = 5 << 20
	mostChangesSecond = 2
)

// TestScale measures the page on a large fleet that changes all the time. It is run by itself, where nothing else takes the processor.
func TestScale(t *testing.T) {
	if os.Getenv("RANKWRIGHT_BROWSER") == "" {
		t.Skip("measured where RANKWRIGHT_BROWSER is set (make browser): it needs a processor for itself")
	}
	s := newStandIn(t)
	inventories := large(t, s, nodes)
	p := serve(t, "--kubeconfig", s.kubeconfig(t))
	s.churn(t, inventories)
	b := open(t, "about:blank", 1440, 900)
	b.do(chromedp.Navigate(p.address))
	b.awaits(`performance.getEntriesByName('shown').length > 0`)
	m := measures{T: t}
	m.below("first picture after the data", get[float64](b, `performance.getEntriesByName('shown')[0].startTime - performance.getEntriesByName('begun')[0].startTime`), firstPictureBar)
	m.bytes("compressed first state", firstState(t, p.address), firstStateBar)
	m.count("changes a second", b.changes(), mostChangesSecond)
	for _, zoom := range []string{"0", "1", "2"} {
		b.run(`location.hash = '#/fleet?zoom=` + zoom + `'`)
		before := b.used()
		m.below("p95 of frames, scrolling at size "+zoom, b.frames(), frameBar)
		m.Logf("%-40s %9.1f ms", "processor of a frame", (b.used()-before)/frameCount)
	}
	for _, what := range slices.Sorted(maps.Keys(interactions)) {
		before := b.used()
		m.below("interaction: "+what, b.interaction(interactions[what]), interactionBar)
		m.Logf("%-40s %9.1f ms", "processor of it, with what changed", (b.used()-before)/interactionCount)
	}
	for _, model := range []string{"Llama-3.1-8B", "Llama-3.1-70B", "Llama-3.1-405B"} {
		m.below("what if: the plan of "+model, b.whatIf(model), whatIfBar)
		m.Logf("%-40s %9.1f ms", "of which the planner's", get[float64](b, `Number(document.querySelector('[data-n=micros]').value) / 1000`))
	}
	m.bytes("memory of the tab's process", b.memory(), browserMemoryBar)
	m.bytes("memory of the plugin", float64(resident(t, p.PID(), "VmRSS")), pluginMemoryBar)
	m.bytes("most memory of the plugin", float64(resident(t, p.PID(), "VmHWM")), pluginMemoryBar)
}

// churn changes inventories and renews Leases so many times a second, until the test ends.
func (s *standIn) churn(t *testing.T, inventories []*v1alpha1.AcceleratorInventory) {
	t.Helper()
	changed := slices.Clone(inventories)
	repeat(t, changesPerSecond, func(n int) {
		of := changed[n*37%len(changed)].DeepCopy()
		of.Status.Devices[n%8].Memory.UsedByOthersMiB = int64(512 * (1 + n%9))
		changed[n*37%len(changed)] = of
		s.change("acceleratorinventories", of)
	})
	repeat(t, renewalsPerSecond, func(n int) { s.change("leases", leaseOf(t, inventories[n%len(inventories)], n)) })
}

// repeat does something so many times a second, until the test ends.
func repeat(t *testing.T, perSecond time.Duration, do func(n int)) {
	t.Helper()
	ticks := time.NewTicker(time.Second / perSecond)
	done := make(chan struct{})
	t.Cleanup(func() { ticks.Stop(); close(done) })
	go func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-ticks.C:
				do(n)
			}
		}
	}()
}

// measures holds figures to bars.
type measures struct{ *testing.T }

func (m measures) below(what string, milliseconds float64, bar time.Duration) {
	m.hold(what, milliseconds <= float64(bar.Milliseconds()), fmt.Sprintf("%.1f ms", milliseconds), bar)
}

func (m measures) bytes(what string, bytes float64, bar int) {
	m.hold(what, bytes <= float64(bar), fmt.Sprintf("%.1f MiB", bytes/(1<<20)), fmt.Sprintf("%d MiB", bar>>20))
}

func (m measures) count(what string, n float64, bar int) {
	m.hold(what, n <= float64(bar), fmt.Sprintf("%.2f", n), bar)
}

func (m measures) hold(what string, good bool, figure string, bar any) {
	m.Helper()
	m.Logf("%-40s %12s (bar %v)", what, figure, bar)
	if !good {
		m.Errorf("%s: %s, above the bar of %v", what, figure, bar)
	}
}

// How often something is done that is measured.
const (
	frameCount       = 150
	interactionCount = 3
)

// used is the processor time of the tab's process so far, in milliseconds, which other work on the machine does not stretch.
func (b *tab) used() float64 {
	b.Helper()
	return b.renderer().CPUTime * 1000
}

// frames scrolls through the fleet for some seconds, and returns the 95th percentile of what a frame takes, in milliseconds.
func (b *tab) frames() float64 {
	b.Helper()
	return get[float64](b, `new Promise((done) => {
		const scroller = document.querySelector('.scroller'), times = [];
		let last = performance.now(), n = 0;
		const step = (now) => {
			times.push(now - last);
			last = now;
			scroller.scrollTop = (scroller.scrollTop + 90) % (scroller.scrollHeight - scroller.clientHeight);
			if (++n < `+strconv.Itoa(frameCount)+`) requestAnimationFrame(step); else done(times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)]);
		};
		requestAnimationFrame(step);
	})`)
}

// interactions are what somebody does, as scripts.
var interactions = map[string]string{
	"search":          `const i = document.querySelector('#search'); i.focus(); i.value = 'llama-25 state:reserved'; i.dispatchEvent(new Event('input', { bubbles: true }))`,
	"no search":       `const i = document.querySelector('#search'); i.value = ''; i.dispatchEvent(new Event('input', { bubbles: true })); i.blur()`,
	"colour":          `document.querySelector('input[name=colour][value=holder]').click()`,
	"table":           `document.querySelector('input[name=as][value=table]').click()`,
	"open a node":     `location.hash = '#/fleet?node=h100x8-00012'`,
	"the placements":  `location.hash = '#/placements'`,
	"group by a zone": `location.hash = '#/fleet?group=zone'`,
}

// interaction does something and waits for the picture that follows, three times; it returns the longest time in milliseconds.
func (b *tab) interaction(script string) float64 {
	b.Helper()
	var all []float64
	for range interactionCount {
		b.run(`location.hash = '#/fleet'`)
		all = append(all, get[float64](b, `new Promise((done) => setTimeout(() => {
			const begun = performance.now();
			{ `+script+` }
			requestAnimationFrame(() => { const c = new MessageChannel(); c.port1.onmessage = () => done(performance.now() - begun); c.port2.postMessage(0); });
		}, 600))`))
	}
	return slices.Max(all)
}

// whatIf asks for the plan of a model on the fleet as it is, and returns the milliseconds until it is on the page.
func (b *tab) whatIf(model string) float64 {
	b.Helper()
	return get[float64](b, `new Promise((done) => {
		const begun = performance.now();
		location.hash = '#/what-if?model=`+model+`';
		const look = () => document.querySelector('.whatif .title')?.textContent.includes('`+model+`') ? done(performance.now() - begun) : requestAnimationFrame(look);
		look();
	})`)
}

// changes counts what the stream sends, a second.
func (b *tab) changes() float64 {
	b.Helper()
	return get[float64](b, `new Promise((done) => {
		const before = performance.getEntriesByName('applied').length;
		setTimeout(() => done((performance.getEntriesByName('applied').length - before) / 10), 10000);
	})`)
}

// memory is that of the tab's process, in bytes: its own, and its share of what it has in common with others.
func (b *tab) memory() float64 {
	b.Helper()
	return float64(resident(b.T, int(b.renderer().ID), "Pss"))
}

// renderer is the process of the tab.
func (b *tab) renderer() *systeminfo.ProcessInfo {
	b.Helper()
	found, err := chromedp.CallBrowser(b.ctx, systeminfo.GetProcessInfo, cdp.Empty{})
	if err != nil {
		b.Fatal(err)
	}
	var busiest *systeminfo.ProcessInfo // others are kept in readiness
	for _, p := range found.ProcessInfo {
		if p.Type == "renderer" && (busiest == nil || p.CPUTime > busiest.CPUTime) {
			busiest = p
		}
	}
	if busiest == nil {
		b.Fatal("the tab has no process")
	}
	return busiest
}

// resident is what the kernel says of a process's memory, in bytes.
func resident(t *testing.T, pid int, field string) int64 {
	t.Helper()
	file := map[bool]string{true: "smaps_rollup", false: "status"}[field == "Pss"]
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if name, rest, _ := strings.Cut(line, ":"); name == field {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatalf("process %d has no %s", pid, field)
	return 0
}
