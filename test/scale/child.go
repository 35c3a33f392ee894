package scale

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/calls"
)

// childEnv has the settings of an operator in its environment.
const childEnv = "RANKWRIGHT_SCALE_OPERATOR"

// Figures are what an operator has used and asked for since it began.
type Figures struct {
	// Calls are its requests.
	Calls calls.Calls
	// Processor is the time of processors.
	Processor time.Duration
	// Objects and Bytes were allocated.
	Objects, Bytes uint64
	// Resident is the resident memory in KiB, Peak the most that it was; 0 where the system does not say.
	Resident, Peak int64
}

// Since is what was used after an earlier moment; memory is that of now.
func (f Figures) Since(earlier *Figures) Figures {
	f.Calls = f.Calls.Since(earlier.Calls)
	f.Processor -= earlier.Processor
	f.Objects -= earlier.Objects
	f.Bytes -= earlier.Bytes
	return f
}

// Child runs an operator, and ends the process with it, where StartOperator started the process. Otherwise it returns.
func Child() {
	text := os.Getenv(childEnv)
	if text == "" {
		return
	}
	var told settings
	err := json.Unmarshal([]byte(text), &told)
	if err == nil {
		err = told.run()
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (s *settings) run() (err error) {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	log := logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	config.QPS = -1
	count := &calls.Counter{}
	config.Wrap(count.Wrap)
	if err := operator.LimitMemory(s.Memory); err != nil {
		return err
	}
	profiles := &profiles{folder: s.Profiles}
	if err := profiles.begin(s.Phase); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, profiles.end()) }()
	return s.operate(ctx, config, count, profiles, log)
}

func (s *settings) operate(ctx context.Context, config *rest.Config, count *calls.Counter, profiles *profiles, log logr.Logger) error {
	options := operator.Options{
		Namespace: OperatorNamespace, AgentNamespace: AgentNamespace, HealthAddress: s.Health, MetricsAddress: "0", Log: log,
	}
	if s.WebhookHost != "" {
		options.Webhook = &operator.Webhook{Address: s.WebhookHost, Port: s.WebhookPort, Hosts: []string{s.WebhookHost}}
	}
	mgr, err := operator.New(ctx, config, options)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.Figures)
	if err != nil {
		return fmt.Errorf("figures: %w", err)
	}
	const patience = 10 * time.Second
	serves := http.NewServeMux()
	serves.HandleFunc("GET /", figuresOf(count))
	serves.HandleFunc("POST /phase", profiles.next)
	server := &http.Server{Handler: serves, ReadHeaderTimeout: patience}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	return mgr.Start(ctx)
}

// figuresOf serves what an operator has used.
func figuresOf(count *calls.Counter) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		figures := Figures{Calls: count.Calls(), Processor: processorTime(), Objects: memory.Mallocs, Bytes: memory.TotalAlloc}
		figures.Resident, figures.Peak = statusOf("VmRSS:"), statusOf("VmHWM:")
		_ = json.NewEncoder(w).Encode(figures)
	}
}

// statusOf is a line of what Linux says of this process, in KiB.
func statusOf(name string) int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), name)
	var kib int64
	_, _ = fmt.Sscan(after, &kib)
	return kib
}

// processorTime is what this process has used.
func processorTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
