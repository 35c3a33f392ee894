package scale

import (
	"bufio"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/test/controlplane"
)

// podMakers is how many pods are made at once: one, so that what is timed is a pod and not its wait for a processor.
const podMakers = 1

// webhookPods is how many pods of placements are made: one a placement at most, and none where nothing serves the webhook.
func (o *Options) webhookPods() int {
	if o.Operator.WebhookHost == "" {
		return 0
	}
	return min(o.Webhook, o.Placements)
}

// installWebhook has the API server call the operator where it runs, and not by a Service.
func (r *run) installWebhook(ctx context.Context) error {
	if r.Operator.WebhookHost == "" {
		return nil
	}
	host, err := netip.ParseAddr(r.Operator.WebhookHost)
	if err != nil {
		return fmt.Errorf("address of the webhook: %w", err)
	}
	at := netip.AddrPortFrom(host, uint16(r.Operator.WebhookPort))
	objects, err := controlplane.ReadConfig("webhook")
	if err != nil {
		return err
	}
	for _, object := range objects {
		hooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
		if err != nil {
			return fmt.Errorf("webhook: %w", err)
		}
		for i := range hooks {
			hook, isMap := hooks[i].(map[string]any)
			path, has, err := unstructured.NestedString(hook, "clientConfig", "service", "path")
			if !isMap || !has || err != nil {
				return fmt.Errorf("%s has a webhook without a path", object.GetName())
			}
			hook["clientConfig"] = map[string]any{"url": fmt.Sprintf("https://%s%s", at, path)}
		}
		if len(hooks) > 0 {
			object.Object["webhooks"] = hooks
		}
	}
	return controlplane.Apply(ctx, r.Config, "", objects...)
}

// webhook makes pods of placements and pods of none, and asks the API server how long it waited for the webhook.
func (r *run) webhook(ctx context.Context) error {
	count := r.webhookPods()
	none, err := r.makePods(ctx, count, "bare", false)
	if err != nil {
		return err
	}
	bound, err := r.makePods(ctx, count, "bound", true)
	if err != nil {
		return err
	}
	r.report.addWebhook(none, bound)
	return nil
}

// madePods are pods of one kind that were made: how long each took, and the calls of the webhook meanwhile.
type madePods struct {
	took  []time.Duration
	calls histogram
}

func (r *run) makePods(ctx context.Context, count int, name string, labelled bool) (madePods, error) {
	before, err := r.webhookCalls(ctx)
	if err != nil {
		return madePods{}, err
	}
	var made madePods
	var mu sync.Mutex
	err = r.Parallel(ctx, "pods", podMakers, count, func(ctx context.Context, i int) error {
		pod := podOf(fmt.Sprintf("%s-%d", name, i))
		if labelled {
			pod.Labels = map[string]string{v1alpha1.LabelPlacement: Placement(loaded, i).Name, binding.LabelIndex: "0"}
		}
		begun := r.clock()
		if err := r.Client.Create(ctx, pod); err != nil {
			return fmt.Errorf("pod: %w", err)
		}
		mu.Lock()
		defer mu.Unlock()
		made.took = append(made.took, r.clock().Sub(begun))
		return nil
	})
	if err != nil {
		return madePods{}, err
	}
	slices.Sort(made.took)
	after, err := r.webhookCalls(ctx)
	made.calls = after.since(before)
	return made, err
}

// histogram is how many calls took no longer than a number of seconds, by that number. +Inf has all.
type histogram map[string]int64

func (h histogram) since(before histogram) histogram {
	more := histogram{}
	for bound, n := range h {
		more[bound] = n - before[bound]
	}
	return more
}

// all is how many calls there were.
func (h histogram) all() int64 { return h["+Inf"] }

// webhookCalls is what the API server counted of our webhook.
func (r *run) webhookCalls(ctx context.Context) (histogram, error) {
	clients, err := kubernetes.NewForConfig(r.Config)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	text, err := clients.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("metrics of the API server: %w", err)
	}
	calls := histogram{}
	for lines := bufio.NewScanner(strings.NewReader(string(text))); lines.Scan(); {
		line := lines.Text()
		if !strings.HasPrefix(line, "apiserver_admission_webhook_admission_duration_seconds_bucket") || !strings.Contains(line, `name="pods.rankwright.dev"`) {
			continue
		}
		_, rest, _ := strings.Cut(line, `le="`)
		bound, _, _ := strings.Cut(rest, `"`)
		n, err := strconv.ParseFloat(line[strings.LastIndex(line, " ")+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("metrics of the API server: %w", err)
		}
		calls[bound] += int64(n)
	}
	return calls, nil
}
