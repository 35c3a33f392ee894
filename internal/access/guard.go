// Package access serves HTTP to those alone whom RBAC lets get the path: the API server says whose token a request bears, and whether they may
// make it.
package access

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
)

const (
	// remembered is how long an answer holds: two questions for each scrape of each node would be more than all else that agents ask. It is as
	// long as a kubelet remembers whom the API server told it (authentication.webhook.cacheTTL).
	remembered = 2 * time.Minute
	// mostRemembered is how many answers are kept. Those who read metrics are few.
	mostRemembered = 128
	// patience is how long the API server may take.
	patience = 10 * time.Second
)

// Guard keeps from a server whom RBAC does not let in.
type Guard struct {
	reviews dynamic.Interface
	known   *cache.LRUExpireCache
}

// NewGuard returns a guard that asks by a client. Its user needs to create TokenReviews and SubjectAccessReviews.
func NewGuard(reviews dynamic.Interface, now clock.PassiveClock) *Guard {
	return &Guard{reviews: reviews, known: cache.NewLRUExpireCacheWithClock(mostRemembered, now)}
}

// Handler answers 401 where a request bears no token that the API server knows, 403 where its user may not make it, and 500 where the
// API server cannot be asked, which failed is told. Other requests go to next.
func (g *Guard) Handler(next http.Handler, failed func(error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		status, err := g.judge(request)
		switch {
		case err != nil:
			failed(err)
			http.Error(w, "the API server could not be asked who you are", http.StatusInternalServerError)
		case status != http.StatusOK:
			http.Error(w, http.StatusText(status), status)
		default:
			next.ServeHTTP(w, request)
		}
	})
}

// judge returns the status that a request is worth.
func (g *Guard) judge(request *http.Request) (int, error) {
	token, bears := strings.CutPrefix(request.Header.Get("Authorization"), "Bearer ")
	if !bears || token == "" {
		return http.StatusUnauthorized, nil
	}
	// Tokens are not kept, only what tells one from another.
	key := [sha256.Size]byte(sha256.Sum256([]byte(token + "\n" + request.Method + " " + request.URL.Path)))
	if answer, is := g.known.Get(key); is {
		if status, is := answer.(int); is {
			return status, nil
		}
	}
	ctx, cancel := context.WithTimeout(request.Context(), patience)
	defer cancel()
	status, err := g.ask(ctx, token, request.Method, request.URL.Path)
	if err == nil {
		g.known.Add(key, status, remembered)
	}
	return status, err
}

func (g *Guard) ask(ctx context.Context, token, method, path string) (int, error) {
	who := &authenticationv1.TokenReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authenticationv1.SchemeGroupVersion.String(), Kind: "TokenReview"},
		Spec:     authenticationv1.TokenReviewSpec{Token: token},
	}
	if err := review(ctx, g.reviews.Resource(authenticationv1.SchemeGroupVersion.WithResource("tokenreviews")), who); err != nil {
		return 0, err
	}
	if !who.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	user, extra := who.Status.User, map[string]authorizationv1.ExtraValue{}
	for name, values := range user.Extra {
		extra[name] = authorizationv1.ExtraValue(values)
	}
	may := &authorizationv1.SubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authorizationv1.SchemeGroupVersion.String(), Kind: "SubjectAccessReview"},
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: strings.ToLower(method)},
		},
	}
	if err := review(ctx, g.reviews.Resource(authorizationv1.SchemeGroupVersion.WithResource("subjectaccessreviews")), may); err != nil {
		return 0, err
	}
	if !may.Status.Allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}

// review has the API server answer a question, and fills the answer in.
func review(ctx context.Context, of dynamic.ResourceInterface, question any) error {
	asked, err := runtime.DefaultUnstructuredConverter.ToUnstructured(question)
	if err != nil {
		return fmt.Errorf("encode %T: %w", question, err)
	}
	answer, err := of.Create(ctx, &unstructured.Unstructured{Object: asked}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create %T: %w", question, err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(answer.Object, question); err != nil {
		return fmt.Errorf("decode %T: %w", question, err)
	}
	return nil
}
