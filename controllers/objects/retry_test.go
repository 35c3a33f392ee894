package objects

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestRetryEndsAtItsMost(t *testing.T) {
	limiter, of := Retry(), reconcile.Request{}
	if first := limiter.When(of); first != leastRetry {
		t.Errorf("the first retry is after %s", first)
	}
	var last time.Duration
	for range 100 {
		last = limiter.When(of)
	}
	if last != mostRetry {
		t.Errorf("after 101 failures the next retry is after %s, want %s", last, mostRetry)
	}
}

// TestControllersRetrySoon finds controllers that would wait for a quarter of an hour after an outage.
func TestControllersRetrySoon(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "*", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no controllers: %v", err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(content); !strings.HasSuffix(file, "_test.go") && strings.Contains(text, "NewControllerManagedBy(") && !strings.Contains(text, "RateLimiter:") && !strings.Contains(text, "objects.Parallel()") {
			t.Errorf("%s makes a controller without a RateLimiter, whose default waits for up to 1,000 s: give it objects.Retry()", file)
		}
	}
}
