package browser

import (
	"bufio"
	"compress/gzip"
	"io"
	"net/http"
	"testing"
)

// firstState counts the bytes of the first line of the stream, as they are sent.
func firstState(t *testing.T, address string) float64 {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"stream", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept-Encoding", "gzip")
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	counted := &counter{from: response.Body}
	plain, err := gzip.NewReader(counted)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(plain).ReadBytes('\n'); err != nil {
		t.Fatal(err)
	}
	return float64(counted.bytes)
}

// counter counts what is read.
type counter struct {
	from  io.Reader
	bytes int
}

// Read reads and counts.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.bytes += n
	return n, err
}
