package operator

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// What is read of a pod, and how long that may take: a pod is somebody else's program.
const (
	mostOfPod    = 16 << 20
	podsPatience = 5 * time.Second
)

// getter returns what reads an address of a pod: without proxies, and without following where a pod sends it.
func getter(get func(context.Context, string) ([]byte, error)) func(context.Context, string) ([]byte, error) {
	if get != nil {
		return get
	}
	own := &http.Client{
		Timeout:       podsPatience,
		Transport:     &http.Transport{DialContext: (&net.Dialer{Timeout: podsPatience}).DialContext, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return func(ctx context.Context, address string) ([]byte, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
		if err != nil {
			return nil, err
		}
		response, err := own.Do(request)
		if err != nil {
			return nil, err
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%s answers %s", address, response.Status)
		}
		content, err := io.ReadAll(io.LimitReader(response.Body, mostOfPod+1))
		if err == nil && len(content) > mostOfPod {
			err = fmt.Errorf("%s has more than %d bytes", address, mostOfPod)
		}
		return content, err
	}
}
