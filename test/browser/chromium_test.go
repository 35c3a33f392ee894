package browser

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/rankwright/rankwright/internal/repository"
)

// pictures has the pictures of the documents taken anew.
var pictures = flag.Bool("pictures", false, "write the pictures of docs/use/pictures anew")

// browsers are the names of Chromium, by who packages it.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// patience is how long something on the page may take before the test fails.
const patience = 60 * time.Second

// tab is a tab of a browser.
type tab struct {
	*testing.T

	ctx context.Context
	// deserted says that the server ended, of which the browser complains.
	deserted atomic.Bool
}

// open opens an address in a browser of its own, on a screen of the given size.
func open(t *testing.T, address string, width, height int) *tab {
	t.Helper()
	path := ""
	for _, name := range browsers {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skipf("no browser: none of %s is installed (Debian: apt-get install chromium)", strings.Join(browsers, ", "))
	}
	flags := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WindowSize(width, height), chromedp.DisableGPU,
		chromedp.Flag("enable-precise-memory-info", true), chromedp.Flag("force-color-profile", "srgb"))
	if os.Geteuid() == 0 { // Chromium's sandbox is not for root
		flags = append(flags, chromedp.NoSandbox)
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), flags...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	made := &tab{T: t, ctx: ctx}
	if err := chromedp.Listen(ctx, made.complain); err != nil {
		t.Fatal(err)
	}
	made.do(chromedp.EmulateViewport(int64(width), int64(height)), chromedp.Navigate(address))
	return made
}

// complain fails the test where the page has an error, or is refused something.
func (b *tab) complain(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.Errorf("the page failed: %+v", e.ExceptionDetails)
	case *log.EventEntryAdded:
		if !b.deserted.Load() && (e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning) {
			b.Errorf("the browser says of the page: %s %s", e.Entry.Text, e.Entry.URL)
		}
	}
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

// get evaluates an expression on the page, and waits for what it promises.
func get[T any](b *tab, expression string) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return value
}

// run runs a script on the page.
func (b *tab) run(script string) {
	b.Helper()
	get[chromedp.Void](b, script)
}

// awaits waits until an expression is true on the page. The page's policy forbids to make functions of texts, as chromedp.Poll does.
func (b *tab) awaits(expression string) {
	b.Helper()
	script := fmt.Sprintf("new Promise((done) => { const end = Date.now() + %d; const look = () => { if (%s) done(''); else if (Date.now() > end) done(where()); else setTimeout(look, 20); }; "+
		"const where = () => location.hash + ', focus on ' + document.activeElement.cloneNode().outerHTML + ', search for ' + document.querySelector('#search')?.value; look(); })", (patience / 2).Milliseconds(), expression)
	if where := get[string](b, script); where != "" {
		b.Fatalf("awaited in vain: %s; the page is at %s", expression, where)
	}
}

// key presses keys, one after the other.
func (b *tab) key(keys string) {
	b.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// settled waits until what changed is drawn.
func (b *tab) settled() {
	b.Helper()
	b.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 200))))")
}

// picture takes a picture for the documents, where that is asked for.
func (b *tab) picture(name string) {
	b.Helper()
	if !*pictures {
		return
	}
	b.settled()
	image, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.Fatal(err)
	}
	root, err := repository.Root()
	if err != nil {
		b.Fatal(err)
	}
	folder := filepath.Join(root, "docs", "use", "pictures")
	if err := os.MkdirAll(folder, 0o750); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), image, 0o600); err != nil {
		b.Fatal(err)
	}
}
