package serving

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/await"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
)

const (
	// driverTimeout bounds a question: initialising eight GPUs without persistence takes half a minute.
	driverTimeout = 90 * time.Second
	// driverAgain is the time to the next question after an answer: sockets of the driver's services come after the driver.
	driverAgain = 30 * time.Minute
	// firstDriverRetry and lastDriverRetry bound the time to the next question after one that failed, which doubles.
	firstDriverRetry = 5 * time.Second
	lastDriverRetry  = 5 * time.Minute
	// maxDriverWords is how much of what the program says is told, in bytes.
	maxDriverWords = 512
)

// driverFiles knows what containers need of NVIDIA's driver. It asks rankwright-cdi in the background: when the driver or
// the GPUs change, when they begin or cease to answer, again after a failure, and now and then.
type driverFiles struct {
	commands host.Commands
	argv     []string
	clock    clock.Clock
	log      *slog.Logger
	wake     chan struct{}

	mu sync.Mutex
	// wanted tells the present driver and GPUs, asked the driver and GPUs of the last answer; empty where there are none.
	wanted, asked string
	// silent are the GPUs of which the driver tells nothing now, as where its libraries are gone.
	silent  int
	driver  *injection.Driver
	problem string
}

// noDriverError is that rankwright-cdi could look, and the node has no driver for containers.
type noDriverError struct{ error }

// newDriverFiles goes on from what an agent before this one found.
func newDriverFiles(options Options, before *injection.Driver) *driverFiles {
	return &driverFiles{
		commands: options.Commands, argv: driverArgv(options), clock: options.Clock, log: options.Log, wake: make(chan struct{}, 1),
		driver: before, problem: "it is being looked for: the next pod may get it",
	}
}

// driverArgv is the question, of a form that a helper allows. Channels are named so that their nodes are made.
func driverArgv(options Options) []string {
	var channels []string
	for _, channel := range options.Config.Vendors[nvidia].IMEXChannels {
		channels = append(channels, strconv.Itoa(channel))
	}
	return []string{"rankwright-cdi", "generate", "--make-nodes", "--hook=" + options.Hook, "--imex-channels=" + strings.Join(channels, ",")}
}

// known returns what the last answer said of the driver; nil where there is none, for the reason in the text.
func (f *driverFiles) known() (*injection.Driver, string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.driver, f.problem
}

// want has the program asked where the driver or the GPUs among the devices are others than they were, and where more or
// fewer of these answer.
func (f *driverFiles) want(devices []v1alpha1.Device) {
	var of []string
	silent := 0
	for i := range devices {
		d := &devices[i]
		if d.Vendor != nvidia {
			continue
		}
		of = append(of, string(d.ID)+" "+d.DriverVersion)
		if d.Health.State == v1alpha1.Unknown {
			silent++
		}
	}
	slices.Sort(of)
	wanted := strings.Join(of, "\n")
	f.mu.Lock()
	changed := wanted != f.wanted || silent != f.silent
	f.wanted, f.silent = wanted, silent
	f.mu.Unlock()
	if changed {
		await.Signal(f.wake, struct{}{})
	}
}

// run asks until the context ends; told is called after an answer that is another than before, and after a failure.
func (f *driverFiles) run(ctx context.Context, told func()) {
	retry := firstDriverRetry
	for ctx.Err() == nil {
		delay := driverAgain
		switch changed, err := f.ask(ctx); {
		case ctx.Err() != nil:
			return
		case err != nil:
			delay, retry = retry, min(2*retry, lastDriverRetry)
			told()
		case changed:
			told()
			fallthrough
		default:
			retry = firstDriverRetry
		}
		await.Pause(ctx, f.clock, delay, f.wake)
	}
}

// ask asks once, where there is a GPU to ask for. After a failure the answer before is kept as long as driver and GPUs are
// the same, unless it is known that the driver's files are gone.
func (f *driverFiles) ask(ctx context.Context) (changed bool, err error) {
	f.mu.Lock()
	wanted := f.wanted
	f.mu.Unlock()
	if wanted == "" {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, driverTimeout)
	defer cancel()
	driver, err := f.query(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.problem = err.Error()
		if _, gone := errors.AsType[noDriverError](err); gone || f.asked != "" && f.asked != wanted {
			f.driver = nil
		}
		f.log.Error("what containers need of NVIDIA's driver is not known", "error", err, "before", f.driver != nil)
		return false, err
	}
	changed = f.driver == nil || !f.driver.Equal(driver)
	f.driver, f.asked, f.problem = driver, wanted, ""
	return changed, nil
}

func (f *driverFiles) query(ctx context.Context) (*injection.Driver, error) {
	if f.commands == nil {
		return nil, errors.New("no program may be run: enable the node helper")
	}
	result, err := f.commands.Run(ctx, f.argv...)
	switch {
	case err != nil:
		return nil, err
	case result.ExitCode != 0:
		err := fmt.Errorf("%s exits with %d: %s", f.argv[0], result.ExitCode, words.Cut(lastLine(result.Stderr), maxDriverWords))
		if result.ExitCode == injection.ExitNoDriver {
			err = noDriverError{err}
		}
		return nil, err
	}
	driver, err := injection.ParseDriver(result.Stdout)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.argv[0], err)
	}
	return driver, nil
}

// lastLine is what a program said last: why it ended.
func lastLine(text []byte) string {
	said := strings.TrimSpace(string(text))
	return said[strings.LastIndex(said, "\n")+1:]
}
