package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/rankwright/rankwright/internal/await"
)

// pollInterval is the time between two looks at what is waited for.
const pollInterval = 100 * time.Millisecond

// await looks at the objects of a resource until the condition holds for every name.
func (d *demo) await(ctx context.Context, of schema.GroupVersionResource, names []string, holds func(*unstructured.Unstructured) bool) error {
	var left await.Value[[]string]
	left.Set(names)
	missing := func() string {
		names, _ := left.Get()
		return of.Resource + " " + strings.Join(names, ", ")
	}
	defer d.progress.waiting(missing)()
	err := wait.PollUntilContextTimeout(ctx, pollInterval, waitLimit, true, func(ctx context.Context) (bool, error) {
		list, err := d.dynamic.Resource(of).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		now := slices.Clone(names)
		for i := range list.Items {
			if object := &list.Items[i]; holds(object) {
				now = slices.DeleteFunc(now, func(name string) bool { return name == object.GetName() })
			}
		}
		left.Set(now)
		return len(now) == 0, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("%s: not as expected after %v", missing(), waitLimit)
	}
	return err
}

// condition returns the status of a condition of the object's, and "" where it has none.
func condition(object *unstructured.Unstructured, kind string) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		if c, ok := entry.(map[string]any); ok && c["type"] == kind {
			status, _ := c["status"].(string)
			return status
		}
	}
	return ""
}

// progress says what is going on and when.
type progress struct {
	out   io.Writer
	begin time.Time
}

func newProgress(out io.Writer) *progress { return &progress{out: out, begin: time.Now()} }

// step prints a line with the seconds since the beginning.
func (p *progress) step(format string, args ...any) {
	_, _ = fmt.Fprintf(p.out, "[%5.1f s] %s\n", time.Since(p.begin).Seconds(), fmt.Sprintf(format, args...))
}

// waiting calls describe now and then until stop is called, so that a long wait is not silent.
func (p *progress) waiting(describe func() string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var told sync.WaitGroup
	told.Go(func() {
		_ = wait.PollUntilContextCancel(ctx, 5*time.Second, false, func(context.Context) (bool, error) {
			p.step("  still waiting for %s", describe())
			return false, nil
		})
	})
	return func() {
		cancel()
		told.Wait()
	}
}
