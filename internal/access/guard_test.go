package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
)

// reviewer answers reviews as an API server does to whom nobody is known.
type reviewer struct {
	dynamic.NamespaceableResourceInterface
	answer func(context.Context) error
	asked  int
}

func (r *reviewer) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return r
}

func (r *reviewer) Create(ctx context.Context, review *unstructured.Unstructured, _ metav1.CreateOptions, _ ...string) (*unstructured.Unstructured, error) {
	r.asked++
	return review, r.answer(ctx)
}

// get asks a guard for metrics with a token.
func get(t *testing.T, g *Guard, token string) (status int, failure error) {
	t.Helper()
	handler := g.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was served") }), func(err error) { failure = err })
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	request.Header.Set("Authorization", "Bearer "+token)
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer.Code, failure
}

// An API server that does not answer ends a request in time, and the next request asks again.
func TestHangingAPIServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := &reviewer{answer: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		g := NewGuard(silent, clock.RealClock{})
		for range 2 {
			began := time.Now()
			status, failure := get(t, g, "token")
			if status != http.StatusInternalServerError || !errors.Is(failure, context.DeadlineExceeded) {
				t.Errorf("status %d, %v; want 500 and a deadline", status, failure)
			}
			if took := time.Since(began); took != patience {
				t.Errorf("it took %v, want %v", took, patience)
			}
		}
		if silent.asked != 2 {
			t.Errorf("the API server was asked %d times, want 2", silent.asked)
		}
	})
}

// Whoever sends many tokens makes the guard keep no more than a few answers.
func TestAnswersAreBounded(t *testing.T) {
	reviews := &reviewer{answer: func(context.Context) error { return nil }}
	g := NewGuard(reviews, clock.RealClock{})
	const tokens = 10 * mostRemembered
	for i := range tokens {
		if status, failure := get(t, g, fmt.Sprint(i)); status != http.StatusUnauthorized || failure != nil {
			t.Fatalf("token %d: %d, %v", i, status, failure)
		}
	}
	if kept := len(g.known.Keys()); kept != mostRemembered || reviews.asked != tokens {
		t.Errorf("%d answers of %d are kept, want %d", kept, reviews.asked, mostRemembered)
	}
	if _, _ = get(t, g, fmt.Sprint(tokens-1)); reviews.asked != tokens {
		t.Error("the last token was asked about again")
	}
}
