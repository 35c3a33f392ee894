package browser

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/rankwright/rankwright/internal/repository"
)

// simulated is a small fleet that does not exist, with the placements of the examples.
func simulated(t *testing.T) *plugin {
	t.Helper()
	args := []string{"--shape", "h100x8=12", "--shape", "l40sx4=6", "--shape", "mi300x8=6", "--shape", "gb200x4=18", "--occupied", "30%"}
	for _, name := range []string{"tensor", "pipeline", "single"} {
		args = append(args, "-f", example(t, name))
	}
	args = append(args, "-f", filepath.Join("testdata", "hybrid.yaml"), "-f", filepath.Join("testdata", "too-large.yaml"))
	return serve(t, args...)
}

func example(t *testing.T, name string) string {
	t.Helper()
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "examples", name+".yaml")
}

// TestPage walks through the page as somebody does who has no mouse, and takes the pictures of the documents.
func TestPage(t *testing.T) {
	b := open(t, simulated(t).address, 1440, 900)
	b.awaits(`document.querySelector('[data-n="totals.devices"]')`)
	b.picture("ui-fleet")

	b.key("2")
	b.awaits(`location.hash.includes('colour=holder')`)
	b.key("+")
	b.awaits(`location.hash.includes('zoom=2')`)
	b.picture("ui-holder")
	b.key("--")
	b.awaits(`location.hash.includes('zoom=0')`)
	b.key("1+")

	b.key("/")
	b.awaits(`document.activeElement.id === 'search'`)
	b.key("state:idle product:h100")
	b.awaits(`document.querySelector('#search').value === 'state:idle product:h100' && document.querySelector('[data-n="shown.nodes"]').value < 13 && document.querySelector('[data-n="shown.nodes"]').value > 0`)
	b.key(kb.Escape)
	b.awaits(`!location.hash.includes('q=')`)

	b.run(`document.querySelector('canvas').focus()`)
	b.key(kb.Home + kb.ArrowRight + kb.Enter)
	b.awaits(`document.querySelector('.side:not([hidden]) h2')`)
	b.picture("ui-node")
	b.key(kb.Escape)
	b.awaits(`document.querySelector('.side[hidden]')`)

	b.key("t")
	b.awaits(`document.querySelectorAll('.nodes tbody tr[data-node]').length > 20`)
	b.key("t")

	b.key("p")
	b.awaits(`document.querySelectorAll('.list a').length === 5`)
	b.run(`[...document.querySelectorAll('.list a')].find((a) => a.textContent.includes('hybrid')).click()`)
	b.awaits(`document.querySelectorAll('.rank').length > 1`)
	b.run(`document.querySelector('.rank').focus()`)
	b.awaits(`document.querySelector('.rank.own') && document.querySelectorAll('.rank.lit').length > 1`)
	b.picture("ui-placement")
	b.run(`location.hash = '#/placements/default/too-large'`)
	b.awaits(`document.querySelector('.refusal .remedies')`)
	b.picture("ui-why-not")

	b.key("w")
	b.awaits(`document.querySelector('.ask')`)
	b.run(`document.querySelector('[name=model]').focus()`)
	b.key("Qwen3-32B")
	b.awaits(`document.querySelector('[data-n=micros]')`)
	b.run(`document.querySelector('[name=isl]').focus()`)
	b.key("2000")
	b.run(`document.querySelector('[name=osl]').focus()`)
	b.key("300")
	b.awaits(`location.hash.includes('osl=300') && document.querySelector('[data-n="estimate.tokensPerSecond.value"]')`)
	b.picture("ui-what-if")

	b.run(`document.activeElement.blur()`)
	b.key("dd")
	b.key("f")
	b.awaits(`document.documentElement.dataset.theme === 'dark' && document.querySelector('.kpis')`)
	b.picture("ui-dark")
}

// TestNothingElseIsAsked looks at what the page loaded: everything is from the address that was printed.
func TestNothingElseIsAsked(t *testing.T) {
	p := simulated(t)
	b := open(t, p.address, 1000, 700)
	b.awaits(`document.querySelector('[data-n="totals.devices"]')`)
	for _, name := range get[[]string](b, `performance.getEntriesByType('resource').map((e) => e.name)`) {
		if !strings.HasPrefix(name, p.address) {
			t.Errorf("the page asked for %s", name)
		}
	}
	if left := get[int](b, `localStorage.length + sessionStorage.length + document.cookie.length`); left > 0 {
		t.Errorf("the page left %d things in the browser", left)
	}
}
